#include "lockstep/models/optimizers/optimizer_config.h"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lockstep/models/layers/naming.h>
#include <lockstep/models/optimizers/keras_optimizers.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

/// The options that all of Keras' optimizers have.
Json common_options(const OptimizerOptions& common) { return *config_of("", common).options; }

Json learning_rate_json(const Optimizer& optimizer, const LearningRate& rate) {
  const std::optional<ObjectConfig> schedule = schedule_config(rate);
  // Keras writes a schedule with its module, in legacy files too.
  if (!schedule) return optimizer.learning_rate();
  return object_json({"keras.optimizers.schedules", schedule->class_name}, sorted_options(*schedule),
                     ConfigForm::keras_3);
}

LearningRate learning_rate_from_json(const Json& value) {
  if (value.is_number()) return value.get<double>();
  return schedule_from_config(object_from_json("schedule", value).object);
}

/// Removes the learning rate from the options and returns it; `rate` is the default.
LearningRate take_learning_rate(Json& options, LearningRate rate, const char* key = "learning_rate") {
  if (options.contains(key)) rate = learning_rate_from_json(options[key]);
  options.erase(key);
  return rate;
}

/// Like take_learning_rate, for an optimizer of Keras. Keras 2 also used the name lr, and had a separate decay.
LearningRate take_keras_rate(Json& options, LearningRate rate) {
  rate = take_learning_rate(options, take_learning_rate(options, std::move(rate), "lr"));
  if (options.contains("decay") && options["decay"].is_null()) options.erase("decay");
  const double decay = options.value("decay", 0.0);
  options.erase("decay");
  if (decay == 0) return rate;
  require<InputError>(!rate.is_schedule(), "the optimizer has a schedule and a decay of {}; it can have one", decay);
  return InverseTimeDecay({.initial_learning_rate = rate.at(0), .decay_steps = 1, .decay_rate = decay});
}

/// Removes the prefix that TensorFlow 2.11 wrote before the names of Keras' own optimizers.
std::string without_prefix(const std::string& name) {
  constexpr std::string_view prefix = "Custom>";
  return name.starts_with(prefix) && optimizer_classes().find(name) == nullptr ? name.substr(prefix.size()) : name;
}

Json options_of(const Optimizer& optimizer) {
  const OptimizerConfig config = optimizer.config();
  const std::string& class_name = config.rule.class_name;
  Json options = *config.rule.options;
  const Json common = common_options(config.common);
  const bool has_decay = class_name == "AdamW" || class_name == "Muon";  // they have their own weight decay
  for (const auto& [key, value] : common.items())
    if (value != 0 || key == "ema_momentum" || (has_decay && key == "weight_decay")) options[key] = value;
  if (config.common.gradient_accumulation_steps == 1) options.erase("gradient_accumulation_steps");
  options = sorted_options({class_name, ObjectConfig::copy_of(options)});
  options["name"] = snake_case(class_name);
  options["learning_rate"] = learning_rate_json(optimizer, config.learning_rate);
  return options;
}

}  // namespace

void OptimizerOptions::describe(OptionVisitor& visitor) {
  visitor.option_or("weight_decay", weight_decay, 0);
  visitor.option_or("clipnorm", clipnorm, 0);
  visitor.option_or("global_clipnorm", global_clipnorm, 0);
  visitor.option_or("clipvalue", clipvalue, 0);
  visitor.option("use_ema", use_ema);
  visitor.option("ema_momentum", ema_momentum);
  visitor.option_or("ema_overwrite_frequency", ema_overwrite_frequency, 0);
  visitor.option_or("gradient_accumulation_steps", gradient_accumulation_steps, 1);
}

ClassRegistry<Optimizer, const OptimizerConfig>& optimizer_classes() {
  static ClassRegistry<Optimizer, const OptimizerConfig> classes(
      "keras.optimizers", makers_of<Optimizer, const OptimizerConfig>(keras_optimizers));
  return classes;
}

Json optimizer_json(const Optimizer& optimizer, ConfigForm form) {
  std::vector<std::string> common{"learning_rate", "name"};
  const Json defaults = common_options({});
  for (const auto& [key, value] : defaults.items()) common.push_back(key);
  const FileClass file_class = optimizer_classes().file_class("the optimizer", optimizer.config().rule, common);
  return object_json(file_class, options_of(optimizer), form);
}

Optimizer optimizer_from_json(const Json& json) {
  OptimizerConfig config;
  const ObjectConfig read = object_from_json("optimizer", json).object;
  const std::string name = without_prefix(read.class_name);
  const std::string_view keras = optimizer_classes().keras_name(name);
  Json own = *read.options;
  config.learning_rate = keras.empty()
                             ? take_learning_rate(own, config.learning_rate)
                             : take_keras_rate(own, keras == "sgd" ? SgdOptions{}.learning_rate : config.learning_rate);
  if (keras == "adamw") config.common.weight_decay = AdamWOptions{}.weight_decay;
  if (keras == "muon") config.common.weight_decay = MuonOptions{}.weight_decay;
  require<InputError>(keras != "adamw" || !own.contains("weight_decay") || !own["weight_decay"].is_null(),
                      "the optimizer AdamW: weight_decay cannot be null; it must be a number");
  OptionVisitor visitor("the optimizer " + name, own);
  config.common.describe(visitor);
  const Json common = common_options(config.common);
  for (const auto& [key, value] : common.items()) own.erase(key);
  for (const char* key : {"is_legacy_optimizer", "jit_compile"}) own.erase(key);
  if (own.contains("epsilon") && own["epsilon"].is_null()) own.erase("epsilon");  // the default, in Keras 2
  config.rule = {name, ObjectConfig::copy_of(own)};
  try {
    return optimizer_from_config(config);
  } catch (const InvalidArgument& error) {
    fail<InputError>("the optimizer {}: {}", name, error.what());
  }
}

OptimizerOptions with_own_decay(const char* class_name, OptimizerOptions common, double weight_decay) {
  require(common.weight_decay == 0, "{} has a weight_decay of its own, {}: set that one, not {} for all optimizers",
          class_name, weight_decay, common.weight_decay);
  common.weight_decay = weight_decay;
  return common;
}

Optimizer optimizer_from_config(const OptimizerConfig& config) {
  const auto maker = optimizer_classes().find(config.rule.class_name);
  require<InputError>(maker != nullptr, "the optimizer is of class {}; known are {}", config.rule.class_name,
                      optimizer_classes().known_names());
  return maker(config);
}

std::string Optimizer::get_config() const { return options_of(*this).dump(); }

}  // namespace lockstep
