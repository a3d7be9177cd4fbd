#include "lockstep/models/layers/layer_config.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include <lockstep/models/layers/keras_names.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json pair(std::int64_t first, std::int64_t second) { return Json::array({first, second}); }

/// Of 32 bits: what is computed from two of them does not overflow.
bool is_whole(const Json& value) {
  using Limits = std::numeric_limits<std::int32_t>;
  return value.is_number_integer() && value.get<std::int64_t>() >= Limits::min() &&
         value.get<std::int64_t>() <= Limits::max();
}

bool is_pair(const Json& value) {
  return value.is_array() && value.size() == 2 && is_whole(value[0]) && is_whole(value[1]);
}

std::optional<Size2d> size_of(const Json& value) {
  if (is_whole(value)) return Size2d(value.get<std::int64_t>());
  if (is_pair(value)) return Size2d{value[0].get<std::int64_t>(), value[1].get<std::int64_t>()};
  return {};
}

}  // namespace

LayerConfig::LayerConfig(std::string_view class_name, const std::string& name, bool trainable, DTypePolicy dtype_policy)
    : class_name_(class_name),
      name_(name),
      trainable_(trainable),
      dtype_policy_(dtype_policy),
      values_(std::make_unique<Json>()) {
  *values_ = {{"name", name}, {"trainable", trainable}, {"dtype", keras_object("keras", "DTypePolicy")}};
  (*values_)["dtype"]["config"]["name"] = lockstep::name(dtype_policy);
}

LayerConfig::LayerConfig(std::string_view class_name, const Json& values, int input_rank)
    : class_name_(class_name), reading_(true), input_rank_(input_rank), values_(std::make_unique<Json>(values)) {
  require<InputError>(values.is_object() && values.contains("name") && values["name"].is_string(),
                      "a layer of class {} has no name in its config", class_name);
  name_ = values["name"].get<std::string>();
  read_.insert("name");
  option("trainable", trainable_);
  read_dtype();
  passed_over("batch_input_shape");  // of a Sequential's first layer in Keras 2
  passed_over("batch_shape");
}

LayerConfig::~LayerConfig() = default;

/// A name, as in Keras 2, or the object that Keras 2 and 3 write for a policy.
void LayerConfig::read_dtype() {
  const Json* dtype = take("dtype");
  if (dtype == nullptr) return;
  const Json* name = dtype;
  if (dtype->is_object() && dtype->contains("config") && (*dtype)["config"].contains("name"))
    name = &(*dtype)["config"]["name"];
  for (const DTypePolicy policy : {DTypePolicy::float32, DTypePolicy::mixed_bfloat16})
    if (*name == lockstep::name(policy)) dtype_policy_ = policy;
  if (!dtype_policy_) refuse("dtype", *name, "float32 or mixed_bfloat16");
}

const Json* LayerConfig::take(const char* key) {
  read_.insert(key);
  const auto found = values_->find(key);
  return found == values_->end() ? nullptr : &*found;
}

void LayerConfig::refuse(const char* key, const Json& value, std::string_view right) const {
  fail<InputError>("layer '{}' ({}): {} cannot be {}; it must be {}", name_, class_name_, key, value.dump(), right);
}

template <class T, class Write, class Read>
void LayerConfig::exchange(const char* key, T& value, const Write& write, const Read& read) {
  if (!reading_) {
    (*values_)[key] = write(value);
  } else if (const Json* found = take(key)) {
    read(*found);
  }
}

void LayerConfig::option(const char* key, bool& value) {
  exchange(
      key, value, [](bool v) { return Json(v); },
      [&](const Json& found) {
        if (!found.is_boolean()) refuse(key, found, "true or false");
        value = found.get<bool>();
      });
}

void LayerConfig::option(const char* key, std::int64_t& value) {
  exchange(
      key, value, [](std::int64_t v) { return Json(v); },
      [&](const Json& found) {
        if (!is_whole(found)) refuse(key, found, "a whole number of 32 bits");
        value = found.get<std::int64_t>();
      });
}

void LayerConfig::option(const char* key, double& value) {
  exchange(
      key, value, [](double v) { return Json(v); },
      [&](const Json& found) {
        if (!found.is_number()) refuse(key, found, "a number");
        value = found.get<double>();
      });
}

void LayerConfig::option(const char* key, Shape& value) {
  exchange(
      key, value, [](const Shape& v) { return Json(std::vector<std::int64_t>(v.begin(), v.end())); },
      [&](const Json& found) {
        const bool fits = found.is_array() && found.size() < static_cast<std::size_t>(Shape::max_rank) &&
                          std::ranges::all_of(found, is_whole);
        if (!fits) refuse(key, found, "a list of sizes");
        value = Shape(found.get<std::vector<std::int64_t>>());
      });
}

void LayerConfig::option(const char* key, Size2d& value) {
  exchange(
      key, value, [](const Size2d& v) { return pair(v.height, v.width); },
      [&](const Json& found) {
        const std::optional<Size2d> size = size_of(found);
        if (!size) refuse(key, found, "a whole number or two");
        value = *size;
      });
}

void LayerConfig::option(const char* key, std::optional<Size2d>& value) {
  exchange(
      key, value, [](const auto& v) { return v ? pair(v->height, v->width) : Json(); },
      [&](const Json& found) {
        value = size_of(found);
        if (!value && !found.is_null()) refuse(key, found, "a whole number or two");
      });
}

void LayerConfig::option(const char* key, Borders2d& value) {
  exchange(
      key, value,
      [](const Borders2d& v) {
        return Json::array({pair(v.top, v.bottom), pair(v.left, v.right)});
      },
      [&](const Json& found) {
        const bool four = found.is_array() && found.size() == 2 && is_pair(found[0]) && is_pair(found[1]);
        const auto at = [&](int i, int k) { return found[i][k].get<std::int64_t>(); };
        if (four) {
          value = {at(0, 0), at(0, 1), at(1, 0), at(1, 1)};
        } else if (const std::optional<Size2d> two = size_of(found)) {
          value = {two->height, two->width};
        } else {
          refuse(key, found, "a whole number, two, or two pairs");
        }
      });
}

void LayerConfig::option(const char* key, Padding& value) {
  exchange(
      key, value, [](Padding v) { return Json(v == Padding::same ? "same" : "valid"); },
      [&](const Json& found) {
        if (found != "same" && found != "valid") refuse(key, found, "\"valid\" or \"same\"");
        value = found == "same" ? Padding::same : Padding::valid;
      });
}

void LayerConfig::option(const char* key, Activation& value) {
  const auto name = [&](Activation v) {
    const std::optional<std::string_view> known = activation_name(v);
    require<Unsupported>(known.has_value(), "layer '{}' ({}): {} has no name in Keras' files; save the weights alone",
                         name_, class_name_, key);
    return Json(*known);
  };
  exchange(key, value, name, [&](const Json& found) {
    const std::optional<Activation> known = find_activation(found);
    if (!known) refuse(key, found, activation_names());
    value = *known;
  });
}

void LayerConfig::option(const char* key, Regularizer& value) {
  exchange(
      key, value, [](const Regularizer& v) { return regularizer_config(v); },
      [&](const Json& found) {
        const std::optional<Regularizer> known = find_regularizer(found);
        if (!known) refuse(key, found, "null, L1, L2 or L1L2");
        value = *known;
      });
}

void LayerConfig::option(const char* key, Constraint& value) {
  exchange(
      key, value, [](const Constraint& v) { return constraint_config(v); },
      [&](const Json& found) {
        const std::optional<Constraint> known = find_constraint(found);
        if (!known) refuse(key, found, "null, MaxNorm, MinMaxNorm, NonNeg or UnitNorm, of values that Keras takes");
        value = *known;
      });
}

void LayerConfig::option(const char* key, SeededInitializer& value) {
  if (!reading_) {
    const Json config = initializer_config(value);
    if (!config.is_null()) (*values_)[key] = config;
  } else if (const Json* found = take(key)) {
    const SeededInitializer known = find_initializer(*found);
    if (!known) refuse(key, *found, "one of Keras' initializers that this project has");
    value = known;
  }
}

void LayerConfig::fixed_value(const char* key, const Json& value) {
  if (!reading_) {
    (*values_)[key] = value;
  } else if (const Json* found = take(key); found != nullptr && *found != value) {
    refuse(key, *found, value.dump());
  }
}

void LayerConfig::fixed(const char* key, std::string_view value) { fixed_value(key, value); }
void LayerConfig::fixed(const char* key, double value) { fixed_value(key, value); }
void LayerConfig::fixed_flag(const char* key, bool value) { fixed_value(key, value); }
void LayerConfig::fixed_null(const char* key) { fixed_value(key, nullptr); }

void LayerConfig::last_axis(const char* key) {
  if (!reading_) {
    (*values_)[key] = -1;
    return;
  }
  const Json* found = take(key);
  if (found == nullptr) return;
  const Json& axis = found->is_array() && found->size() == 1 ? (*found)[0] : *found;
  if (axis != -1 && axis != input_rank_ - 1) refuse(key, *found, "-1, the last axis");
}

void LayerConfig::renamed(const char* old_key, const char* key) {
  if (const auto found = values_->find(old_key); reading_ && found != values_->end()) {
    (*values_)[key] = *found;
    read_.insert(old_key);
  }
}

void LayerConfig::passed_over(const char* key) { read_.insert(key); }

void LayerConfig::check_all_read() const {
  for (const auto& [key, value] : values_->items()) {
    const bool off = value.is_null() || value == false || value == 0;
    if (!off && !read_.contains(key)) refuse(key.c_str(), value, "left out: it is unknown here");
  }
}

}  // namespace lockstep
