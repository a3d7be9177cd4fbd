#include <utility>

#include <nlohmann/json.hpp>

#include <lockstep/models/graph/naming.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/option_lists.h>
#include <lockstep/models/serialization/compile_config.h>
#include <lockstep/models/serialization/loss_config.h>
#include <lockstep/models/serialization/object_json.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json learning_rate_json(const Optimizer& optimizer, const LearningRate& rate) {
  const std::optional<ObjectConfig> schedule = schedule_config(rate);
  // With its module also in a legacy file, as Keras writes it.
  return schedule ? object_json("keras.optimizers.schedules", *schedule, ConfigForm::keras_3)
                  : Json(optimizer.learning_rate());
}

/// Whether Keras takes this value, and means the same as without it.
bool is_off(const ObjectConfig::Value& value) {
  return value == ObjectConfig::Value(0.0) || value == ObjectConfig::Value(std::int64_t{0});
}

Json optimizer_json(const Optimizer& optimizer, ConfigForm form) {
  const OptimizerConfig config = optimizer.config();
  ObjectConfig object = config.rule;
  const bool has_decay = object.class_name == "AdamW";  // by itself
  for (const auto& [key, value] : config_of("", config.common).options)
    if (!is_off(value) || (has_decay && key == "weight_decay")) object.options.emplace(key, value);
  if (config.common.gradient_accumulation_steps == 1) object.options.erase("gradient_accumulation_steps");
  Json json = object_json("keras.optimizers", object, form);
  json["config"]["name"] = snake_case(object.class_name);
  json["config"]["learning_rate"] = learning_rate_json(optimizer, config.learning_rate);
  return json;
}

LearningRate learning_rate_from_json(const Json& value) {
  if (value.is_number()) return value.get<double>();
  return schedule_from_config(object_from_json("schedule", value).object);
}

Optimizer optimizer_from_json(Json json) {
  OptimizerConfig config;
  if (json.is_object() && json.contains("config") && json["config"].is_object()) {
    Json& options = json["config"];
    for (const char* key : {"lr", "learning_rate"}) {  // the former in Keras 2
      if (options.contains(key)) config.learning_rate = learning_rate_from_json(options[key]);
      options.erase(key);
    }
  }
  config.rule = object_from_json("optimizer", json).object;
  if (config.rule.class_name == "AdamW") config.common.weight_decay = AdamWOptions{}.weight_decay;
  const ObjectConfig read = config.rule;
  ObjectOptions object("optimizer", read);
  list_options(config.common, [&](const char* key, auto& value) {
    object.take(key, value);
    config.rule.options.erase(key);
  });
  for (const char* key : {"is_legacy_optimizer", "jit_compile"}) config.rule.options.erase(key);
  try {
    return optimizer_from_config(config);
  } catch (const InvalidArgument& error) {
    fail<InputError>("the optimizer {}: {}", config.rule.class_name, error.what());
  }
}

Json metrics_json(const std::vector<Metric>& metrics, ConfigForm form) {
  if (metrics.empty()) return nullptr;
  Json list = Json::array();
  for (const Metric& metric : metrics) list.push_back(metric_json(metric, form));
  return list;
}

/// Calls visit for what stands for the one output, however deep in lists, and in objects by the output's name.
template <class Visit>
void for_each_value(const Json& value, const Visit& visit) {
  if (value.is_array() || (value.is_object() && !value.contains("class_name"))) {
    for (const Json& inner : value) for_each_value(inner, visit);
  } else if (!value.is_null()) {
    visit(value);
  }
}

std::vector<Metric> metrics_from_json(const Json& value, const CustomObjects& custom) {
  std::vector<Metric> metrics;
  for_each_value(value, [&](const Json& metric) { metrics.push_back(metric_from_json(metric, custom.metrics)); });
  return metrics;
}

std::optional<CompileConfig> read_parts(const Json& config, const CustomObjects& custom) {
  const auto part = [&](const char* key) { return config.value(key, Json()); };
  std::vector<Loss> losses;
  for_each_value(part("loss"), [&](const Json& loss) { losses.push_back(loss_from_json(loss, custom.losses)); });
  require<InputError>(losses.size() <= 1, "the model was compiled with {} losses; one can be", losses.size());
  for_each_value(part("loss_weights"), [](const Json& weight) {
    require<InputError>(weight == 1, "the model was compiled with the loss weight {}; it must be 1", weight.dump());
  });
  if (losses.empty()) return {};
  return CompileConfig{
      .optimizer = optimizer_from_json(part(config.contains("optimizer_config") ? "optimizer_config" : "optimizer")),
      .loss = losses.front(),
      .metrics = metrics_from_json(part("metrics"), custom),
      .weighted_metrics = metrics_from_json(part("weighted_metrics"), custom)};
}

}  // namespace

Json compile_config(const CompileConfig& compiled, ConfigForm form) {
  return {{form == ConfigForm::legacy_h5 ? "optimizer_config" : "optimizer", optimizer_json(compiled.optimizer, form)},
          {"loss", loss_json(compiled.loss, form)},
          {"loss_weights", nullptr},
          {"metrics", metrics_json(compiled.metrics, form)},
          {"weighted_metrics", metrics_json(compiled.weighted_metrics, form)},
          {"run_eagerly", false},
          {"steps_per_execution", 1}};
}

std::optional<CompileConfig> read_compile_config(const Json& config, const CustomObjects& custom) {
  if (config.is_null()) return {};
  try {
    return read_parts(config, custom);
  } catch (const Json::exception& error) {
    fail<InputError>("how the model was compiled is said as Keras does not: {}", error.what());
  }
}

}  // namespace lockstep
