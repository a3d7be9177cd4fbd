#include "lockstep/models/layers/keras_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/layers/naming.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using KeyedInitializer = Initializer (*)(const RandomKey&);

constexpr std::array<std::pair<std::string_view, Activation>, 16> activations{
    {{"linear", Activation::linear},
     {"relu", Activation::relu},
     {"relu6", Activation::relu6},
     {"leaky_relu", Activation::leaky_relu},
     {"elu", Activation::elu},
     {"selu", Activation::selu},
     {"gelu", Activation::gelu},
     {"sigmoid", Activation::sigmoid},
     {"hard_sigmoid", Activation::hard_sigmoid},
     {"silu", Activation::silu},
     {"softplus", Activation::softplus},
     {"softsign", Activation::softsign},
     {"tanh", Activation::tanh},
     {"exponential", Activation::exponential},
     {"softmax", Activation::softmax},
     {"log_softmax", Activation::log_softmax}}};

constexpr std::array<std::pair<std::string_view, Constraint::Kind>, 4> constraints{
    {{"MaxNorm", Constraint::Kind::max_norm},
     {"MinMaxNorm", Constraint::Kind::min_max_norm},
     {"NonNeg", Constraint::Kind::non_neg},
     {"UnitNorm", Constraint::Kind::unit_norm}}};

constexpr std::array<std::pair<std::string_view, KeyedInitializer>, 9> initializers{{{"Zeros", zeros},
                                                                                     {"Ones", ones},
                                                                                     {"GlorotUniform", glorot_uniform},
                                                                                     {"GlorotNormal", glorot_normal},
                                                                                     {"HeUniform", he_uniform},
                                                                                     {"HeNormal", he_normal},
                                                                                     {"LecunUniform", lecun_uniform},
                                                                                     {"LecunNormal", lecun_normal},
                                                                                     {"Orthogonal", orthogonal}}};

/// The options of a class that stands in a file as {"class_name", "config"} or, with its defaults, as a name.
struct Found {
  std::string class_name;
  Json config = Json::object();

  double number(const char* key, double otherwise) const {
    const auto value = config.find(key);
    return value != config.end() && value->is_number() ? value->get<double>() : otherwise;
  }
  std::string text(const char* key, const char* otherwise) const {
    const auto value = config.find(key);
    return value != config.end() && value->is_string() ? value->get<std::string>() : otherwise;
  }
};

std::optional<Found> object_of(const Json& value) {
  if (value.is_string()) return Found{.class_name = value.get<std::string>()};
  if (!value.is_object() || !value.contains("class_name") || !value["class_name"].is_string()) return {};
  Found found{.class_name = value["class_name"].get<std::string>()};
  if (value.contains("config") && value["config"].is_object()) found.config = value["config"];
  return found;
}

/// "GlorotUniform", "glorot_uniform" and "glorotuniform" are one.
std::string plain(std::string_view name) {
  std::string result = snake_case(name);
  std::erase(result, '_');
  return result;
}

/// The axes that norms are taken along, 0 where the file says nothing.
std::optional<NormAxes> axes_of(const Found& found) {
  const auto axis = found.config.find("axis");
  if (axis == found.config.end()) return 0;
  if (axis->is_number_integer()) return axis->get<int>();
  const auto is_number = [](const Json& value) { return value.is_number_integer(); };
  if (!axis->is_array() || !std::ranges::all_of(*axis, is_number)) return {};
  return NormAxes(axis->get<std::vector<int>>());
}

SeededInitializer variance_scaling_of(const Found& found) {
  const std::string mode = found.text("mode", "fan_in");
  const std::string distribution = found.text("distribution", "truncated_normal");
  VarianceScalingOptions options{.scale = found.number("scale", 1)};
  if (mode == "fan_out") options.mode = FanMode::fan_out;
  if (mode == "fan_avg") options.mode = FanMode::fan_avg;
  if (distribution == "uniform") options.distribution = Distribution::uniform;
  if (distribution == "untruncated_normal") options.distribution = Distribution::untruncated_normal;
  return options.scale > 0 ? variance_scaling(options) : SeededInitializer();
}

}  // namespace

Json keras_object(std::string_view module, std::string_view class_name) {
  return {{"module", module}, {"class_name", class_name}, {"config", Json::object()}, {"registered_name", nullptr}};
}

std::optional<std::string_view> activation_name(Activation activation) {
  for (const auto& [name, known] : activations)
    if (known == activation) return name;
  return {};
}

std::optional<Activation> find_activation(const Json& value) {
  if (value.is_null()) return Activation::linear;
  // Some versions of Keras 3 write {"class_name": "function", "config": "relu"}.
  const Json& name = value.is_object() && value.contains("config") ? value["config"] : value;
  if (name == "swish") return Activation::silu;
  if (name == keras_2_hard_sigmoid) return Activation::keras_2_hard_sigmoid;
  for (const auto& [known, activation] : activations)
    if (name == known) return activation;
  return {};
}

std::string activation_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, activation] : activations) names.push_back(name);
  return fmt::format("one of {}", fmt::join(names, ", "));
}

Json regularizer_config(const Regularizer& regularizer) {
  if (!regularizer) return nullptr;
  const bool one = regularizer.l1() == 0 || regularizer.l2() == 0;
  Json object = keras_object("keras.regularizers", !one ? "L1L2" : regularizer.l1() != 0 ? "L1" : "L2");
  if (regularizer.l1() != 0) object["config"]["l1"] = regularizer.l1();
  if (regularizer.l2() != 0) object["config"]["l2"] = regularizer.l2();
  return object;
}

std::optional<Regularizer> find_regularizer(const Json& value) {
  if (value.is_null()) return Regularizer();
  const std::optional<Found> found = object_of(value);
  const std::string name = found ? plain(found->class_name) : "";
  if (name != "l1" && name != "l2" && name != "l1l2") return {};
  // A name alone stands for Keras' default of 0.01.
  const double otherwise = value.is_string() ? 0.01 : 0;
  const double l1 = name == "l2" ? 0 : found->number("l1", otherwise);
  const double l2 = name == "l1" ? 0 : found->number("l2", otherwise);
  if (l1 < 0 || l2 < 0) return {};
  return Regularizer(l1, l2);
}

Json constraint_config(const Constraint& constraint) {
  const auto known = std::ranges::find(constraints, constraint.kind(), &decltype(constraints)::value_type::second);
  if (known == constraints.end()) return nullptr;
  Json object = keras_object("keras.constraints", known->first);
  if (constraint.kind() == Constraint::Kind::non_neg) return object;
  const auto& [min_value, max_value, rate, axis] = constraint.options();
  Json& config = object["config"];
  if (constraint.kind() == Constraint::Kind::min_max_norm) config["min_value"] = min_value;
  if (constraint.kind() != Constraint::Kind::unit_norm) config["max_value"] = max_value;
  if (constraint.kind() == Constraint::Kind::min_max_norm) config["rate"] = rate;
  config["axis"] = axis.numbers.size() == 1 ? Json(axis.numbers.front()) : Json(axis.numbers);
  return object;
}

std::optional<Constraint> find_constraint(const Json& value) {
  if (value.is_null()) return Constraint();
  const std::optional<Found> found = object_of(value);
  const std::optional<NormAxes> axis = found ? axes_of(*found) : std::nullopt;
  if (!axis) return {};
  const std::string name = plain(found->class_name);
  const MinMaxNormOptions range{.min_value = found->number("min_value", 0),
                                .max_value = found->number("max_value", 1),
                                .rate = found->number("rate", 1),
                                .axis = *axis};
  try {
    if (name == "maxnorm") return MaxNorm(found->number("max_value", 2), *axis);
    if (name == "minmaxnorm") return MinMaxNorm(range);
    if (name == "nonneg") return NonNeg();
    if (name == "unitnorm") return UnitNorm(*axis);
  } catch (const InvalidArgument&) {
    // of values that it cannot have
  }
  return {};
}

Json initializer_config(const SeededInitializer& initializer) {
  const KeyedInitializer* function = initializer.target<KeyedInitializer>();
  if (function == nullptr) return nullptr;
  for (const auto& [name, known] : initializers)
    if (*function == known) return keras_object("keras.initializers", name);
  return nullptr;
}

SeededInitializer find_initializer(const Json& value) {
  const std::optional<Found> found = object_of(value);
  if (!found) return {};
  const std::string name = plain(found->class_name);
  for (const auto& [known, function] : initializers)
    if (name == plain(known)) return function;
  const NormalOptions normal{.mean = found->number("mean", 0), .stddev = found->number("stddev", 0.05)};
  if (name == "randomnormal") return random_normal(normal);
  if (name == "truncatednormal") return truncated_normal(normal);
  if (name == "randomuniform")
    return random_uniform({.minval = found->number("minval", -0.05), .maxval = found->number("maxval", 0.05)});
  if (name == "constant") return constant(found->number("value", 0));
  if (name == "variancescaling") return variance_scaling_of(*found);
  return {};
}

}  // namespace lockstep
