#include "lockstep/models/layers/layer_config.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/layers/inner_model.h>
#include <lockstep/models/layers/keras_names.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/models/layers/layer_registry.h>
#include <lockstep/models/layers/naming.h>
#include <lockstep/models/layers/option_names.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string called(std::string_view class_name, const std::string& name) {
  return fmt::format("layer '{}' ({})", name, class_name);
}

std::string name_in(std::string_view class_name, const Json& values) {
  require<InputError>(values.is_object() && values.contains("name") && values["name"].is_string(),
                      "a layer of class {} has no name in its config", class_name);
  return values["name"].get<std::string>();
}

Json pair(std::int64_t first, std::int64_t second) { return Json::array({first, second}); }

/// Whether the value is an integer of 32 bits, so that computations with two of them cannot overflow.
bool is_whole(const Json& value) {
  using Limits = std::numeric_limits<std::int32_t>;
  return is_int64(value) && value.get<std::int64_t>() >= Limits::min() && value.get<std::int64_t>() <= Limits::max();
}

bool is_pair(const Json& value) {
  return value.is_array() && value.size() == 2 && is_whole(value[0]) && is_whole(value[1]);
}

std::optional<Size2d> size_of(const Json& value) {
  if (is_whole(value)) return Size2d(value.get<std::int64_t>());
  if (is_pair(value)) return Size2d{value[0].get<std::int64_t>(), value[1].get<std::int64_t>()};
  return {};
}

/// Numbers of this shape as nested lists, from this axis on; takes the numbers from `rest`.
Json nested_lists(std::span<const double>& rest, const Shape& shape, int axis) {
  if (axis == shape.rank()) {
    const double value = rest.front();
    rest = rest.subspan(1);
    return value;
  }
  Json list = Json::array();
  for (std::int64_t i = 0; i < shape[axis]; ++i) list.push_back(nested_lists(rest, shape, axis + 1));
  return list;
}

/// Appends the numbers in nested lists. Returns whether the lists have this shape, from this axis on.
bool read_nested(const Json& value, const Shape& shape, int axis, std::vector<double>& values) {
  if (axis == shape.rank()) {
    if (value.is_number()) values.push_back(value.get<double>());
    return value.is_number();
  }
  return value.is_array() && value.size() == static_cast<std::size_t>(shape[axis]) &&
         std::ranges::all_of(value, [&](const Json& part) { return read_nested(part, shape, axis + 1, values); });
}

}  // namespace

LayerConfig::LayerConfig(const LayerImpl& layer, const std::string& name)
    : OptionVisitor(called(layer.class_name(), name)),
      class_name_(layer.class_name()),
      name_(name),
      trainable_(layer.trainable()),
      dtype_policy_(layer.dtype_policy()) {
  Json policy = keras_object({"keras", "DTypePolicy"});
  policy["config"]["name"] = lockstep::name(*dtype_policy_);
  exchange("name", name);
  exchange("trainable", trainable_);
  exchange("dtype", policy);
  layer.describe(*this);
}

LayerConfig::LayerConfig(std::string_view class_name, const Json& values, int input_rank)
    : OptionVisitor(called(class_name, name_in(class_name, values)), values),
      class_name_(class_name),
      name_(name_in(class_name, values)),
      input_rank_(input_rank) {
  passed_over("name");
  option("trainable", trainable_);
  read_dtype();
  passed_over("batch_input_shape");  // an option of a Sequential's first layer in Keras 2
  passed_over("batch_shape");
  bool autocast = true;  // an option in the config that Keras makes for a class without a get_config of its own
  option("autocast", autocast);
  if (!autocast) dtype_policy_ = DTypePolicy::float32;  // nothing is cast to the policy's compute dtype
}

/// Reads the dtype policy: its name, as in Keras 2, or the object that Keras 2 and 3 write for a policy.
void LayerConfig::read_dtype() {
  const Json* dtype = exchange("dtype", nullptr);
  if (dtype == nullptr) return;
  const Json* name = dtype;
  if (dtype->is_object() && dtype->contains("config") && (*dtype)["config"].contains("name"))
    name = &(*dtype)["config"]["name"];
  for (const DTypePolicy policy : {DTypePolicy::float32, DTypePolicy::mixed_bfloat16})
    if (*name == lockstep::name(policy)) dtype_policy_ = policy;
  if (!dtype_policy_) refuse("dtype", *name, "float32 or mixed_bfloat16");
}

void LayerConfig::option(const char* key, std::int64_t& value) {
  if (!is_reading()) return OptionVisitor::option(key, value);
  auto number = static_cast<int>(value);
  option(key, number);
  value = number;
}

void LayerConfig::option(const char* key, Shape& value) {
  const Json* found = exchange(key, std::vector<std::int64_t>(value.begin(), value.end()));
  if (found == nullptr) return;
  const bool fits = found->is_array() && found->size() < static_cast<std::size_t>(Shape::max_rank) &&
                    std::ranges::all_of(*found, is_whole);
  if (!fits) refuse(key, *found, "a list of sizes");
  value = Shape(found->get<std::vector<std::int64_t>>());
}

void LayerConfig::option(const char* key, std::optional<Shape>& value) {
  const auto sizes = [](const Shape& shape) { return std::vector<std::int64_t>(shape.begin(), shape.end()); };
  const Json* found = exchange(key, value ? Json(sizes(*value)) : Json());
  if (found == nullptr) return;
  value.reset();
  if (found->is_null()) return;
  const Json list = found->is_array() ? *found : Json::array({*found});
  if (list.size() >= static_cast<std::size_t>(Shape::max_rank) || !std::ranges::all_of(list, is_whole))
    refuse(key, *found, "null, a size or a list of sizes");
  value = Shape(list.get<std::vector<std::int64_t>>());
}

void LayerConfig::option(const char* key, Size2d& value) {
  const Json* found = exchange(key, pair(value.height, value.width));
  if (found == nullptr) return;
  const std::optional<Size2d> size = size_of(*found);
  if (!size) refuse(key, *found, "a whole number or two");
  value = *size;
}

void LayerConfig::option(const char* key, std::optional<Size2d>& value) {
  const Json* found = exchange(key, value ? pair(value->height, value->width) : Json());
  if (found == nullptr) return;
  value = size_of(*found);
  if (!value && !found->is_null()) refuse(key, *found, "a whole number or two");
}

void LayerConfig::option(const char* key, Borders2d& value) {
  const Json* found = exchange(key, Json::array({pair(value.top, value.bottom), pair(value.left, value.right)}));
  if (found == nullptr) return;
  const bool four = found->is_array() && found->size() == 2 && is_pair((*found)[0]) && is_pair((*found)[1]);
  const auto at = [&](int i, int k) { return (*found)[i][k].get<std::int64_t>(); };
  if (four) {
    value = {at(0, 0), at(0, 1), at(1, 0), at(1, 1)};
  } else if (const std::optional<Size2d> two = size_of(*found)) {
    value = {two->height, two->width};
  } else {
    refuse(key, *found, "a whole number, two, or two pairs");
  }
}

void LayerConfig::noise_shape(const char* key, std::vector<std::int64_t>& value) {
  Json own;
  for (const std::int64_t size : value) own.push_back(size == -1 ? Json() : Json(size));
  const Json* found = exchange(key, own);
  if (found == nullptr || found->is_null()) return;
  const auto fits = [](const Json& size) { return size.is_null() || (is_whole(size) && size >= 1); };
  if (!found->is_array() || !std::ranges::all_of(*found, fits))
    refuse(key, *found, "null, or a list of null and whole numbers of at least 1");
  value.clear();
  for (const Json& size : *found) value.push_back(size.is_null() ? -1 : size.get<std::int64_t>());
}

void LayerConfig::option(const char* key, Padding& value) { choice(key, value, padding_names); }

void LayerConfig::option(const char* key, Interpolation& value) { choice(key, value, interpolation_names); }

void LayerConfig::option(const char* key, Activation& value) {
  const Json config = activation_config(value);
  require<Unsupported>(!config.is_null() || is_reading(),
                       "{}: Keras 3 lacks the function of its {}; save the weights alone", object(), key);
  const Json* found = exchange(key, config);
  if (found == nullptr) return;
  const std::optional<Activation> known = find_activation(*found);
  if (!known && (found->is_object() ? found->value("config", Json()) : *found) == "glu")
    refuse(key, *found,
           "one that keeps shapes: Keras gives layers with glu a wrong output shape; apply keras.ops.glu to the result "
           "of the layer instead");
  if (!known)
    refuse(key, *found,
           activation_names() +
               "; in Keras, make the layer again without an activation, load its weights, and apply a "
               "layer, such as LeakyReLU, or an operation of keras.ops after it");
  value = *known;
}

void LayerConfig::option(const char* key, Regularizer& value) {
  const Json* found = exchange(key, regularizer_config(value));
  if (found == nullptr) return;
  const std::optional<Regularizer> known = find_regularizer(*found);
  if (!known) refuse(key, *found, "null, L1, L2 or L1L2");
  value = *known;
}

void LayerConfig::option(const char* key, Constraint& value) {
  const Json* found = exchange(key, constraint_config(value));
  if (found == nullptr) return;
  const std::optional<Constraint> known = find_constraint(*found);
  if (!known) refuse(key, *found, "null, MaxNorm, MinMaxNorm, NonNeg or UnitNorm, of values that Keras takes");
  value = *known;
}

void LayerConfig::option(const char* key, SeededInitializer& value) {
  const Json own = initializer_config(value);
  if (!is_reading() && own.is_null()) return;
  const Json* found = exchange(key, own);
  if (found == nullptr) return;
  const SeededInitializer known = find_initializer(*found);
  if (!known)
    refuse(key, *found,
           "one of Keras' initializers and options that this project has; as the weights are in the file, set another "
           "one before saving it");
  value = known;
}

void LayerConfig::option(const char* key, std::shared_ptr<LayerImpl>& layer, int input_rank) {
  Json own;
  if (!is_reading() && layer) own = layer_json(*layer, layer->name());
  const Json* found = exchange(key, own);
  if (found == nullptr || found->is_null()) return;
  const bool is_layer = found->is_object() && found->contains("class_name") && (*found)["class_name"].is_string() &&
                        found->contains("config");
  if (!is_layer) refuse(key, *found, "a layer");
  if (layer = inner_model_from_config(*found); layer != nullptr) return;
  Json config = (*found)["config"];
  if (config.is_object() && !config.contains("name"))  // the get_config of a registered class may leave it out
    config["name"] = snake_case((*found)["class_name"].get<std::string>());
  LayerConfig inner(class_name_in(*found), config, input_rank);
  layer = layer_from_config(inner).shared();
}

void LayerConfig::axis(const char* key, int& value) {
  const Json* found = exchange(key, value);
  if (found == nullptr) return;
  const Json& axis = found->is_array() && found->size() == 1 ? (*found)[0] : *found;
  if (!is_whole(axis)) refuse(key, *found, "the number of an axis");
  value = axis == input_rank_ - 1 ? -1 : axis.get<int>();
}

void LayerConfig::axes(const char* key, std::vector<int>& value) {
  const Json* found = exchange(key, value.empty() ? Json() : value.size() == 1 ? Json(value.front()) : Json(value));
  if (found == nullptr) return;
  const Json all = found->is_array() ? *found : found->is_null() ? Json::array() : Json::array({*found});
  if (!std::ranges::all_of(all, is_whole)) refuse(key, *found, "an axis, a list of axes, or null");
  value = all.get<std::vector<int>>();
}

void LayerConfig::numbers(const char* key, std::vector<double>& values, Shape& shape) {
  if (!is_reading() && shape.rank() == 0) return one_or_more(key, values);
  std::span<const double> rest = values;
  const Json* found = exchange(key, values.empty() ? Json() : nested_lists(rest, shape, 0));
  if (found == nullptr) return;
  values.clear();
  shape = {};
  if (found->is_null()) return;
  for (const Json* part = found; part->is_array() && !part->empty() && shape.rank() < Shape::max_rank;
       part = &part->front())
    shape.push_back(static_cast<std::int64_t>(part->size()));
  if (!read_nested(*found, shape, 0, values))
    refuse(key, *found, "null, a number, or numbers in lists of equal lengths");
}

void LayerConfig::sizes(const char* key, Shape& value) {
  Json own = Json::array();
  for (const std::int64_t size : value) own.push_back(size == -1 ? Json() : Json(size));
  const Json* found = exchange(key, own);
  if (found == nullptr) return;
  const Json all = found->is_array() ? *found : Json::array({*found});
  const bool fits = all.size() < static_cast<std::size_t>(Shape::max_rank) &&
                    std::ranges::all_of(all, [](const Json& size) { return size.is_null() || is_whole(size); });
  if (!fits) refuse(key, *found, "a whole number, or a list of these and null");
  value = {};
  for (const Json& size : all) value.push_back(size.is_null() ? -1 : size.get<std::int64_t>());
}

void LayerConfig::only_size(const char* key, std::int64_t& value) {
  const Json* found = exchange(key, Json::array({value}));
  if (found == nullptr) return;
  const Json& size = found->is_array() && found->size() == 1 ? (*found)[0] : *found;
  if (!is_whole(size)) refuse(key, *found, "a whole number, or a list of one");
  value = size.get<std::int64_t>();
}

void LayerConfig::only_size(const char* key, std::optional<std::int64_t>& value) {
  if (is_reading() && !has_value(key)) return passed_over(key);
  if (!is_reading() && !value) return fixed_null(key);
  std::int64_t size = value.value_or(0);
  only_size(key, size);
  value = size;
}

void LayerConfig::string_or_null(const char* key, std::string& value) {
  const Json* found = exchange(key, value.empty() ? Json() : Json(value));
  if (found == nullptr || found->is_null()) return;
  if (!found->is_string()) refuse(key, *found, "text or null");
  value = found->get<std::string>();
}

void LayerConfig::fixed(const char* key, std::string_view value, std::string_view remedy) {
  const Json* found = exchange(key, value);
  if (found != nullptr && *found != Json(value)) refuse(key, *found, fmt::format("\"{}\": {}", value, remedy));
}

void LayerConfig::fixed_flag(const char* key, bool value, std::string_view remedy) {
  const Json* found = exchange(key, value);
  if (found != nullptr && *found != value) refuse(key, *found, fmt::format("{}: {}", value, remedy));
}

void LayerConfig::channels_last() {
  fixed("data_format", "channels_last",
        "in Keras, make the model again with channels_last, load its weights (kernels have the same form in both) and "
        "save it; transpose the data, or begin the model with Permute((2, 3, 1))");
}

Json LayerConfig::written() const {
  Json written = values();
  if (!has_trainable_) written.erase("trainable");
  return written;
}

std::string Layer::get_config() const { return LayerConfig(*impl_, name()).written().dump(); }

}  // namespace lockstep
