#include "lockstep/models/layers/keras_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/layers/initializer_objects.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using KeyedInitializer = Initializer (*)(const RandomKey&);

constexpr std::array<std::pair<std::string_view, Activation>, 27> activations{
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
     {"hard_silu", Activation::hard_silu},
     {"mish", Activation::mish},
     {"softplus", Activation::softplus},
     {"log_sigmoid", Activation::log_sigmoid},
     {"squareplus", Activation::squareplus},
     {"sparse_plus", Activation::sparse_plus},
     {"sparse_sigmoid", Activation::sparse_sigmoid},
     {"celu", Activation::celu},
     {"hard_tanh", Activation::hard_tanh},
     {"hard_shrink", Activation::hard_shrink},
     {"soft_shrink", Activation::soft_shrink},
     {"tanh_shrink", Activation::tanh_shrink},
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

constexpr std::array<std::pair<std::string_view, KeyedInitializer>, 8> initializers{{{"Zeros", zeros},
                                                                                     {"Ones", ones},
                                                                                     {"GlorotUniform", glorot_uniform},
                                                                                     {"GlorotNormal", glorot_normal},
                                                                                     {"HeUniform", he_uniform},
                                                                                     {"HeNormal", he_normal},
                                                                                     {"LecunUniform", lecun_uniform},
                                                                                     {"LecunNormal", lecun_normal}}};

/// An object that a file stores as {"class_name", "config"} or, if its options are the defaults, as its name alone.
std::optional<ObjectConfig> object_of(const Json& value) {
  if (!value.is_string() && (!value.is_object() || !value.contains("class_name") || !value["class_name"].is_string()))
    return {};
  return object_from_json("option", value).object;
}

struct Factors {
  double l1;
  double l2;
};

void list(OptionVisitor& visitor, Factors& factors) {
  visitor.option_or("l1", factors.l1, factors.l1);
  visitor.option_or("l2", factors.l2, factors.l2);
}

/// Lists the options of this kind of constraint.
void list(OptionVisitor& visitor, Constraint::Kind kind, MinMaxNormOptions& options) {
  using enum Constraint::Kind;
  if (kind == non_neg) return;
  if (kind == min_max_norm) visitor.option("min_value", options.min_value);
  if (kind != unit_norm) visitor.option("max_value", options.max_value);
  if (kind == min_max_norm) visitor.option("rate", options.rate);
  std::vector<std::int64_t> axes(options.axis.numbers.begin(), options.axis.numbers.end());
  visitor.one_or_more("axis", axes);
  options.axis.numbers.assign(axes.begin(), axes.end());
}

void list(OptionVisitor& visitor, NormalOptions& options) {
  visitor.option("mean", options.mean);
  visitor.option("stddev", options.stddev);
}

void list(OptionVisitor& visitor, UniformOptions& options) {
  visitor.option("minval", options.minval);
  visitor.option("maxval", options.maxval);
}

void list(OptionVisitor& visitor, VarianceScalingOptions& options) {
  visitor.option("scale", options.scale);
  visitor.choice("mode", options.mode,
                 {{"fan_in", FanMode::fan_in}, {"fan_out", FanMode::fan_out}, {"fan_avg", FanMode::fan_avg}});
  visitor.choice("distribution", options.distribution,
                 {{"normal", Distribution::truncated_normal},  // the name in Keras 2
                  {"truncated_normal", Distribution::truncated_normal},
                  {"untruncated_normal", Distribution::untruncated_normal},
                  {"uniform", Distribution::uniform}});
}

void list(OptionVisitor& visitor, OrthogonalOptions& options) { visitor.option("gain", options.gain); }

void list(OptionVisitor& visitor, double& value) { visitor.option("value", value); }

struct NoOptions {};
void list(OptionVisitor& /*visitor*/, NoOptions& /*options*/) {}

/// Reads options. An option that the file does not have keeps its value in `options`. Throws for unknown options.
template <class Options>
Options read(const ObjectConfig& object, Options options = {}) {
  OptionVisitor visitor(object.class_name, *object.options);
  list(visitor, options);
  for (const char* key : {"seed", "dtype"}) visitor.passed_over(key);  // of initializers; Keras 2 has dtype
  visitor.check_all_read();
  return options;
}

/// The config of an initializer of class Object, with its options in Keras 3's file; null for any other initializer.
template <class Object, class Options>
Json config_of_initializer(const SeededInitializer& initializer, const char* class_name, Options Object::*options) {
  const auto* object = initializer.target<Object>();
  if (object == nullptr) return nullptr;
  OptionVisitor visitor(class_name);
  Options listed = object->*options;
  list(visitor, listed);
  Json config = keras_object({"keras.initializers", class_name});
  config["config"] = visitor.values();
  return config;
}

/// Returns an empty initializer for an unknown name. Throws for invalid options.
SeededInitializer make_initializer(const ObjectConfig& object) {
  const std::string name = plain_name(object.class_name);
  for (const auto& [known, function] : initializers)
    if (name == plain_name(known)) {
      read<NoOptions>(object);
      return function;
    }
  if (name == "randomnormal") return random_normal(read<NormalOptions>(object));
  if (name == "truncatednormal") return truncated_normal(read<NormalOptions>(object));
  if (name == "randomuniform") return random_uniform(read<UniformOptions>(object));
  if (name == "variancescaling") return variance_scaling(read<VarianceScalingOptions>(object));
  if (name == "orthogonal") return orthogonal(read<OrthogonalOptions>(object));
  if (name == "constant") return constant(read<double>(object));
  return {};
}

/// The function that the operation Gelu or a layer without weights, such as LeakyReLU, computes with its options.
std::optional<Activation> activation_of_object(const ObjectConfig& object) {
  const std::string& name = object.class_name;
  const auto has = [&](const char* key, const Json& value) { return object.options->value(key, value) == value; };
  if (name == "Gelu") return has("approximate", true) ? Activation::gelu_tanh : Activation::gelu;
  if (name == "LeakyReLU" && object.options->value("negative_slope", Json()) == 0.2) return Activation::leaky_relu;
  if (name == "ELU" && has("alpha", 1.0)) return Activation::elu;
  if (name == "Softmax" && has("axis", -1)) return Activation::softmax;
  if (name != "ReLU" || !has("negative_slope", 0.0) || !has("threshold", 0.0)) return {};
  if (has("max_value", 6.0) && object.options->contains("max_value")) return Activation::relu6;
  return has("max_value", nullptr) ? std::optional(Activation::relu) : std::nullopt;
}

}  // namespace

std::optional<std::string_view> activation_name(Activation activation) {
  for (const auto& [name, known] : activations)
    if (known == activation) return name;
  return {};
}

Json activation_config(Activation activation) {
  if (activation == Activation::gelu_tanh) {
    Json object = keras_object({"keras.src.ops.nn", "Gelu", "Gelu"});
    object["config"] = {{"name", "gelu"}, {"approximate", true}};
    return object;
  }
  const std::optional<std::string_view> name = activation_name(activation);
  return name ? Json(*name) : Json();
}

std::optional<Activation> find_activation(const Json& value) {
  if (value.is_null()) return Activation::linear;
  if (const auto object = value.is_object() ? object_of(value) : std::nullopt; object && object->options->is_object())
    if (const std::optional<Activation> known = activation_of_object(*object)) return known;
  // Some versions of Keras 3 write {"class_name": "function", "config": "relu"}.
  const Json& name = value.is_object() && value.contains("config") ? value["config"] : value;
  if (name == "swish") return Activation::silu;
  if (name == "hard_swish") return Activation::hard_silu;
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
  Json object = keras_object({"keras.regularizers", !one ? "L1L2" : regularizer.l1() != 0 ? "L1" : "L2"});
  if (regularizer.l1() != 0) object["config"]["l1"] = regularizer.l1();
  if (regularizer.l2() != 0) object["config"]["l2"] = regularizer.l2();
  return object;
}

std::optional<Regularizer> find_regularizer(const Json& value) {
  if (value.is_null()) return Regularizer();
  const std::optional<ObjectConfig> found = object_of(value);
  const std::string name = found ? plain_name(found->class_name) : "";
  if (name != "l1" && name != "l2" && name != "l1l2") return {};
  try {
    const auto [l1, l2] = read<Factors>(*found, {.l1 = name == "l1" ? 0.01 : 0, .l2 = name == "l2" ? 0.01 : 0});
    return Regularizer(name == "l2" ? 0 : l1, name == "l1" ? 0 : l2);
  } catch (const Error&) {
    return {};  // invalid values
  }
}

Json constraint_config(const Constraint& constraint) {
  const auto known = std::ranges::find(constraints, constraint.kind(), &decltype(constraints)::value_type::second);
  if (known == constraints.end()) return nullptr;
  Json object = keras_object({"keras.constraints", std::string(known->first)});
  OptionVisitor visitor("");
  MinMaxNormOptions options = constraint.options();
  list(visitor, constraint.kind(), options);
  object["config"] = visitor.values();
  return object;
}

std::optional<Constraint> find_constraint(const Json& value) {
  if (value.is_null()) return Constraint();
  const std::optional<ObjectConfig> found = object_of(value);
  const std::string name = found ? plain_name(found->class_name) : "";
  for (const auto& [known, kind] : constraints) {
    if (name != plain_name(known)) continue;
    MinMaxNormOptions options{.min_value = kind == Constraint::Kind::unit_norm ? 1.0 : 0.0,
                              .max_value = kind == Constraint::Kind::max_norm ? 2.0 : 1.0};
    try {
      OptionVisitor visitor(name, *found->options);
      list(visitor, kind, options);
      return Constraint(kind, options);
    } catch (const Error&) {
      return {};  // invalid values
    }
  }
  return {};
}

Json initializer_config(const SeededInitializer& initializer) {
  if (const KeyedInitializer* function = initializer.target<KeyedInitializer>())
    for (const auto& [name, known] : initializers)
      if (*function == known) return keras_object({"keras.initializers", std::string(name)});
  for (const Json& config : {config_of_initializer(initializer, "RandomNormal", &detail::RandomNormal::options),
                             config_of_initializer(initializer, "TruncatedNormal", &detail::TruncatedNormal::options),
                             config_of_initializer(initializer, "RandomUniform", &detail::RandomUniform::options),
                             config_of_initializer(initializer, "VarianceScaling", &detail::VarianceScaling::options),
                             config_of_initializer(initializer, "Orthogonal", &detail::Orthogonal::options),
                             config_of_initializer(initializer, "Constant", &detail::Constant::value)})
    if (!config.is_null()) return config;
  return nullptr;
}

SeededInitializer find_initializer(const Json& value) {
  const std::optional<ObjectConfig> found = object_of(value);
  try {
    return found ? make_initializer(*found) : SeededInitializer();
  } catch (const Error&) {
    return {};  // invalid values
  }
}

}  // namespace lockstep
