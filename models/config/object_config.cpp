#include "lockstep/models/config/object_config.h"

#include <cmath>

#include <fmt/ranges.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Value = ObjectConfig::Value;

std::string text_of(const Value& value) {
  return std::visit([](const auto& alternative) { return fmt::format("{}", alternative); }, value);
}

/// Also of a list of one, which Keras takes thresholds as.
std::optional<double> number_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* list = std::get_if<std::vector<double>>(&value); list != nullptr && list->size() == 1)
    return list->front();
  return {};
}

/// Keras also writes whole numbers as 10.0.
std::optional<std::int64_t> whole_number_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  const auto* number = std::get_if<double>(&value);
  if (number != nullptr && *number == std::floor(*number) && std::abs(*number) < 0x1p53)
    return static_cast<std::int64_t>(*number);
  return {};
}

}  // namespace

std::optional<Value> ObjectOptions::extract(const char* key) {
  const auto found = left_.extract(key);
  if (found.empty()) return {};
  return found.mapped();
}

void ObjectOptions::refuse(const std::string& key, const Value& value, const std::string& right) const {
  fail<InputError>("the {} {}: {} cannot be {}; it must be {}", kind_, object_.class_name, key, text_of(value), right);
}

void ObjectOptions::take(const char* key, bool& value) {
  const std::optional<Value> found = extract(key);
  if (!found) return;
  const bool* flag = std::get_if<bool>(&*found);
  if (flag == nullptr) refuse(key, *found, "true or false");
  value = *flag;
}

void ObjectOptions::take(const char* key, int& value) {
  std::int64_t wide = value;
  take(key, wide);
  value = static_cast<int>(wide);
  if (value != wide) refuse(key, wide, "a whole number of 32 bits");
}

void ObjectOptions::take(const char* key, std::int64_t& value) {
  const std::optional<Value> found = extract(key);
  if (!found) return;
  const std::optional<std::int64_t> whole = whole_number_of(*found);
  if (!whole) refuse(key, *found, "a whole number");
  value = *whole;
}

void ObjectOptions::take(const char* key, double& value) {
  const std::optional<Value> found = extract(key);
  if (!found) return;
  const std::optional<double> number = number_of(*found);
  if (!number) refuse(key, *found, "a number");
  value = *number;
}

void ObjectOptions::take(const char* key, std::string& value) {
  const std::optional<Value> found = extract(key);
  if (!found) return;
  const std::string* text = std::get_if<std::string>(&*found);
  if (text == nullptr) refuse(key, *found, "text");
  value = *text;
}

void ObjectOptions::take(const char* key, std::optional<double>& value) {
  if (!left_.contains(key)) return;
  double number = 0;
  take(key, number);
  value = number;
}

void ObjectOptions::take(const char* key, std::vector<std::int64_t>& value) {
  const std::optional<Value> found = extract(key);
  if (!found) return;
  const auto* list = std::get_if<std::vector<std::int64_t>>(&*found);
  if (list == nullptr) refuse(key, *found, "a list of whole numbers");
  value = *list;
}

void ObjectOptions::take(const char* key, std::vector<double>& value) {
  const std::optional<Value> found = extract(key);
  if (!found) return;
  if (const auto* list = std::get_if<std::vector<double>>(&*found)) {
    value = *list;
  } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&*found)) {
    value.assign(whole->begin(), whole->end());
  } else {
    refuse(key, *found, "a list of numbers");
  }
}

void ObjectOptions::take_fixed(const char* key, const Value& value) {
  const std::optional<Value> found = extract(key);
  if (found && *found != value) refuse(key, *found, text_of(value));
}

void ObjectOptions::check_all_taken() const {
  for (const auto& [key, value] : left_)
    if (value != Value(false) && number_of(value) != 0.0) refuse(key, value, "left out: it is unknown here");
}

}  // namespace lockstep
