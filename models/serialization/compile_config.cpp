#include "lockstep/models/serialization/compile_config.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/losses/loss_config.h>
#include <lockstep/models/metrics/metric_config.h>
#include <lockstep/models/optimizers/optimizer_config.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

using MetricsOf = std::vector<Metric> OutputTraining::*;

/// A list of metrics, or a list of lists for several outputs; null without metrics.
Json metrics_json(const std::vector<OutputTraining>& outputs, MetricsOf which, ConfigForm form) {
  if (std::ranges::all_of(outputs, [&](const OutputTraining& output) { return (output.*which).empty(); }))
    return nullptr;
  Json lists = Json::array();
  for (const OutputTraining& output : outputs) {
    Json& list = lists.emplace_back(Json::array());
    for (const Metric& metric : output.*which) list.push_back(metric_json(metric, form, output.loss));
  }
  return lists.size() == 1 ? lists.front() : lists;
}

/// A list of losses for several outputs; null without losses.
Json losses_json(const std::vector<OutputTraining>& outputs, ConfigForm form) {
  if (std::ranges::none_of(outputs, [](const OutputTraining& output) { return output.loss.has_value(); }))
    return nullptr;
  Json losses = Json::array();
  for (const OutputTraining& output : outputs) losses.push_back(output.loss ? loss_json(*output.loss, form) : Json());
  return losses.size() == 1 ? losses.front() : losses;
}

Json loss_weights_json(const std::vector<OutputTraining>& outputs) {
  Json weights = Json::array();
  for (const OutputTraining& output : outputs) weights.push_back(output.loss_weight);
  return std::ranges::all_of(outputs, [](const OutputTraining& output) { return output.loss_weight == 1; }) ? Json()
                                                                                                            : weights;
}

/// The value for each output. Lists have a value for each output in order, objects by name; other values apply to all
/// outputs. A single output gets the whole value.
std::vector<Json> by_output(const char* what, const Json& value, const std::vector<std::string>& outputs) {
  if (outputs.size() == 1) return {value};
  std::vector<Json> parts;
  const bool named = value.is_object() && !value.contains("class_name");
  if (named)
    for (const auto& [name, part] : value.items())
      require<InputError>(std::ranges::find(outputs, name) != outputs.end(), "{} of '{}'; the outputs are '{}'", what,
                          name, fmt::join(outputs, "', '"));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (named)
      parts.push_back(value.value(outputs[i], Json()));
    else
      parts.push_back(value.is_array() && value.size() == outputs.size() ? value[i] : value);
  }
  return parts;
}

/// Calls visit for each value of one output, at any depth of lists and objects.
template <class Visit>
void for_each_value(const Json& value, const Visit& visit) {
  if (value.is_array() || (value.is_object() && !value.contains("class_name"))) {
    for (const Json& inner : value) for_each_value(inner, visit);
  } else if (!value.is_null()) {
    visit(value);
  }
}

/// Adds a metric, unless it is unknown and may be left out.
void read_metric(const Json& value, const CompileReading& reading, std::vector<Metric>& metrics) {
  try {
    metrics.push_back(metric_from_json(value, reading.custom.metrics));
  } catch (const InputError& error) {
    if (!reading.on_unknown_metric) throw;
    reading.on_unknown_metric(error.what());
  }
}

OutputTraining read_output(const Json& loss, const Json& loss_weight, const Json& metrics, const Json& weighted,
                           const CompileReading& reading) {
  OutputTraining output{.loss = reading.loss};
  if (!reading.loss)
    for_each_value(loss, [&](const Json& value) {
      require<InputError>(!output.loss, "an output was compiled with several losses; it can have one");
      output.loss = loss_from_json(value, reading.custom.losses);
    });
  for_each_value(loss_weight, [&](const Json& value) { output.loss_weight = value.get<double>(); });
  if (reading.metrics)
    output.metrics = *reading.metrics;
  else
    for_each_value(metrics, [&](const Json& value) { read_metric(value, reading, output.metrics); });
  for_each_value(weighted, [&](const Json& value) { read_metric(value, reading, output.weighted_metrics); });
  return output;
}

std::optional<CompileConfig> read_parts(const Json& config, const std::vector<std::string>& names,
                                        const CompileReading& reading) {
  const auto parts = [&](const char* key) { return by_output(key, config.value(key, Json()), names); };
  const std::vector<Json> losses = parts("loss");
  const std::vector<Json> weights = parts("loss_weights");
  const std::vector<Json> metrics = parts("metrics");
  const std::vector<Json> weighted = parts("weighted_metrics");
  std::vector<OutputTraining> outputs;
  for (std::size_t i = 0; i < names.size(); ++i)
    outputs.push_back(read_output(losses[i], weights[i], metrics[i], weighted[i], reading));
  const char* const optimizer = config.contains("optimizer_config") ? "optimizer_config" : "optimizer";
  return CompileConfig{
      .optimizer = reading.optimizer ? *reading.optimizer : optimizer_from_json(config.value(optimizer, Json())),
      .outputs = outputs};
}

}  // namespace

Json compile_config(const CompileConfig& compiled, ConfigForm form) {
  return {{form == ConfigForm::legacy_h5 ? "optimizer_config" : "optimizer", optimizer_json(compiled.optimizer, form)},
          {"loss", losses_json(compiled.outputs, form)},
          {"loss_weights", loss_weights_json(compiled.outputs)},
          {"metrics", metrics_json(compiled.outputs, &OutputTraining::metrics, form)},
          {"weighted_metrics", metrics_json(compiled.outputs, &OutputTraining::weighted_metrics, form)},
          {"run_eagerly", false},
          {"steps_per_execution", 1}};
}

std::optional<CompileConfig> read_compile_config(const Json& config, const std::vector<std::string>& outputs,
                                                 const CompileReading& reading) {
  if (config.is_null() || config.empty()) return {};  // empty if Keras 3 saved a model without compile()
  try {
    return read_parts(config, outputs, reading);
  } catch (const Json::exception& error) {
    fail<InputError>("the model's compile_config is not in Keras' form: {}", error.what());
  }
}

}  // namespace lockstep
