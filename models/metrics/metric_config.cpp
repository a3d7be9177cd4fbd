#include "lockstep/models/metrics/metric_config.h"

#include <nlohmann/json.hpp>

#include <lockstep/models/losses/loss_config.h>
#include <lockstep/models/metrics/keras_metrics.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

const Makers<Metric, OptionVisitor>& makers() {
  static const auto table = makers_of<Metric, OptionVisitor>(keras_metrics);
  return table;
}

Json options_json(const Metric& metric, ConfigForm form) {
  Json json = object_json("keras.metrics", *metric.config(), form);
  json["config"]["name"] = metric.name();
  return json;
}

}  // namespace

Json metric_json(const Metric& metric, ConfigForm form) {
  if (!metric.config()) return function_json(metric.name(), form);
  // Writes only the name, for which Keras chooses the kind of accuracy that fits the model.
  if (metric.config()->class_name == "accuracy") return metric.name() == "acc" ? "acc" : "accuracy";
  return options_json(metric, form);
}

std::string Metric::get_config() const {
  require<Unsupported>(rule_.config.has_value(), "the metric '{}' is a custom one, which has no config", name_);
  return options_json(*this, ConfigForm::keras_3)["config"].dump();
}

Metric metric_from_json(const Json& value, const std::vector<Metric>& own) {
  NamedObject read = object_from_json("metric", value);
  // TensorFlow's Keras 2 stores the function that a MeanMetricWrapper takes the mean of.
  if (const Json function = read.object.options->value("fn", Json());
      read.object.class_name == "MeanMetricWrapper" && function.is_string())
    read.object.class_name = function.get<std::string>();
  if (const Metric* found = find_own(own, read)) return *found;
  const std::string name = plain_name(read.object.class_name);
  const auto loss = loss_makers().find(name == "logcosherror" ? "logcosh" : name);
  const auto maker = makers().find(name);
  require<InputError>(maker != makers().end() || loss != loss_makers().end(),
                      "lockstep has no metric '{}'{}; known are {}, and the losses {}", read.object.class_name,
                      not_among(own), names_of(makers()), names_of(loss_makers()));
  require<InputError>(maker != makers().end() || read.object.options->value("ignore_class", Json()).is_null(),
                      "the metric {} cannot have an ignore_class; it averages over all labels", read.object.class_name);
  const Metric metric = maker != makers().end() ? make_from(maker->second, "metric", read.object)
                                                : MeanMetricWrapper(make_from(loss->second, "metric", read.object));
  return read.name.empty() ? metric : metric.with_name(read.name);
}

}  // namespace lockstep
