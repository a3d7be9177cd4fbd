#include "lockstep/models/config/option_visitor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

/// The integer that a value is; empty for other values. Keras also writes integers in the form 10.0.
std::optional<std::int64_t> whole_number_of(const Json& value) {
  if (is_int64(value)) return value.get<std::int64_t>();
  if (!value.is_number()) return {};
  const auto number = value.get<double>();
  if (number != std::floor(number) || std::abs(number) >= 0x1p53) return {};
  return static_cast<std::int64_t>(number);
}

template <class Predicate>
bool is_list(const Json& value, const Predicate& is_element) {
  return value.is_array() && std::ranges::all_of(value, is_element);
}

}  // namespace

bool is_int64(const Json& value) {
  if (value.is_number_unsigned()) return std::in_range<std::int64_t>(value.get<std::uint64_t>());
  return value.is_number_integer();
}

OptionVisitor::OptionVisitor(std::string object)
    : object_(std::move(object)), values_(std::make_unique<Json>(Json::object())) {}

OptionVisitor::OptionVisitor(std::string object, const Json& values)
    : object_(std::move(object)), reading_(true), values_(std::make_unique<Json>(values)) {}

OptionVisitor::~OptionVisitor() = default;

const Json* OptionVisitor::exchange(const char* key, const Json& written) {
  if (!reading_) {
    (*values_)[key] = written;
    return nullptr;
  }
  read_.insert(key);
  const auto found = values_->find(key);
  return found == values_->end() ? nullptr : &*found;
}

void OptionVisitor::refuse(const char* key, const Json& value, std::string_view right) const {
  fail<InputError>("{}: {} cannot be {}; it must be {}", object_, key, value.dump(), right);
}

void OptionVisitor::option(const char* key, bool& value) {
  const Json* found = exchange(key, value);
  if (found == nullptr) return;
  if (!found->is_boolean()) refuse(key, *found, "true or false");
  value = found->get<bool>();
}

void OptionVisitor::option(const char* key, int& value) {
  using Limits = std::numeric_limits<std::int32_t>;
  const Json* found = exchange(key, value);
  if (found == nullptr) return;
  const std::optional<std::int64_t> whole = whole_number_of(*found);
  if (!whole || *whole < Limits::min() || *whole > Limits::max()) refuse(key, *found, "a whole number of 32 bits");
  value = static_cast<int>(*whole);
}

void OptionVisitor::option(const char* key, std::int64_t& value) {
  const Json* found = exchange(key, value);
  if (found == nullptr) return;
  const std::optional<std::int64_t> whole = whole_number_of(*found);
  if (!whole) refuse(key, *found, "a whole number below 2^63");
  value = *whole;
}

void OptionVisitor::option(const char* key, double& value) {
  const Json* found = exchange(key, value);
  if (found == nullptr) return;
  const Json& number = found->is_array() && found->size() == 1 ? found->front() : *found;
  if (!number.is_number()) refuse(key, *found, "a number");
  value = number.get<double>();
}

template <class Number>
void OptionVisitor::optional_number(const char* key, std::optional<Number>& value) {
  if (reading_ ? !values_->contains(key) : !value.has_value()) return;
  if (reading_ && values_->at(key).is_null()) {
    value.reset();
    return fixed_null(key);  // it has been read
  }
  Number number = value.value_or(0);
  option(key, number);
  value = number;
}

void OptionVisitor::option(const char* key, std::optional<double>& value) { optional_number(key, value); }
void OptionVisitor::option(const char* key, std::optional<int>& value) { optional_number(key, value); }

void OptionVisitor::option(const char* key, std::string& value) {
  const Json* found = exchange(key, value);
  if (found == nullptr) return;
  if (!found->is_string()) refuse(key, *found, "text");
  value = found->get<std::string>();
}

void OptionVisitor::option(const char* key, std::vector<std::int64_t>& value) {
  const Json* found = exchange(key, value);
  if (found == nullptr) return;
  if (!is_list(*found, is_int64)) refuse(key, *found, "a list of whole numbers below 2^63");
  value = found->get<std::vector<std::int64_t>>();
}

void OptionVisitor::option(const char* key, std::vector<double>& value) {
  const Json* found = exchange(key, value);
  if (found == nullptr) return;
  if (!is_list(*found, &Json::is_number)) refuse(key, *found, "a list of numbers");
  value = found->get<std::vector<double>>();
}

bool OptionVisitor::is_null(const char* key) const {
  const auto found = values_->find(key);
  return found != values_->end() && found->is_null();
}

bool OptionVisitor::has_value(const char* key) const { return values_->contains(key) && !is_null(key); }

void OptionVisitor::option_if_any(const char* key, std::vector<double>& value) {
  if (reading_ && is_null(key)) {
    value.clear();
    return fixed_null(key);  // it has been read
  }
  if (reading_ || !value.empty()) option(key, value);
}

void OptionVisitor::one_or_more(const char* key, std::vector<std::int64_t>& value) {
  const Json* found = exchange(key, value.size() == 1 ? Json(value.front()) : Json(value));
  if (found == nullptr) return;
  const Json all = found->is_array() ? *found : Json::array({*found});
  if (!is_list(all, is_int64)) refuse(key, *found, "a whole number below 2^63, or a list of them");
  value = all.get<std::vector<std::int64_t>>();
}

void OptionVisitor::one_or_more(const char* key, std::vector<double>& value) {
  const Json own = value.empty() ? Json() : value.size() == 1 ? Json(value.front()) : Json(value);
  const Json* found = exchange(key, own);
  if (found == nullptr) return;
  const Json all = found->is_array() ? *found : found->is_null() ? Json::array() : Json::array({*found});
  if (!is_list(all, &Json::is_number)) refuse(key, *found, "a number, a list of them, or null");
  value = all.get<std::vector<double>>();
}

std::size_t OptionVisitor::chosen(const char* key, std::size_t own, std::span<const std::string_view> names) {
  const Json* found = exchange(key, names[own]);
  if (found == nullptr) return own;
  const auto name = std::ranges::find_if(names, [&](std::string_view known) { return *found == known; });
  if (name == names.end()) refuse(key, *found, fmt::format("\"{}\"", fmt::join(names, "\" or \"")));
  return static_cast<std::size_t>(name - names.begin());
}

void OptionVisitor::fixed_value(const char* key, const Json& value) {
  if (const Json* found = exchange(key, value); found != nullptr && *found != value) refuse(key, *found, value.dump());
}

void OptionVisitor::fixed(const char* key, std::string_view value) { fixed_value(key, value); }
void OptionVisitor::fixed(const char* key, double value) { fixed_value(key, value); }
void OptionVisitor::fixed_flag(const char* key, bool value) { fixed_value(key, value); }
void OptionVisitor::fixed_null(const char* key) { fixed_value(key, nullptr); }

void OptionVisitor::renamed(const char* old_key, const char* key) {
  if (const auto found = values_->find(old_key); reading_ && found != values_->end()) {
    Json value = *found;
    (*values_)[key] = std::move(value);
    read_.insert(old_key);
  }
}

void OptionVisitor::passed_over(const char* key) { read_.insert(key); }

void OptionVisitor::check_all_read() const {
  for (const auto& [key, value] : values_->items()) {
    const bool off = value.is_null() || value == false || value == 0;
    if (!off && !read_.contains(key)) refuse(key.c_str(), value, "left out: it is unknown here");
  }
}

}  // namespace lockstep
