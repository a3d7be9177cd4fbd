#include "lockstep/models/metrics/metric_config.h"

#include <nlohmann/json.hpp>

#include <lockstep/models/losses/keras_losses.h>
#include <lockstep/models/losses/loss_config.h>
#include <lockstep/models/metrics/keras_metrics.h>
#include <lockstep/runtime/core/logging.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

/// The mean of a loss over all examples, and thus over all labels.
template <class T>
Metric mean_of(OptionVisitor& visitor) {
  visitor.fixed_null("ignore_class");
  return MeanMetricWrapper(make_keras_object<T, Loss, OptionVisitor>(visitor));
}

/// Adds the means of losses, under the losses' names, to metrics of other names.
template <class... T, std::size_t... n>
Makers<Metric, OptionVisitor> with_means_of(const std::tuple<KerasClass<T, n>...>& losses,
                                            Makers<Metric, OptionVisitor> makers = {}) {
  const auto add = [&]<class Kind, std::size_t names>(const KerasClass<Kind, names>& loss) {
    for (const std::string_view name : loss.names) makers.emplace(name, mean_of<Kind>);
  };
  std::apply([&](const auto&... each) { (add(each), ...); }, losses);
  return makers;
}

Makers<Metric, OptionVisitor> keras_makers() {
  auto makers = with_means_of(keras_losses_and_metrics, makers_of<Metric, OptionVisitor>(keras_metrics));
  makers.emplace("logcosherror", mean_of<LogCosh>);
  return makers;
}

Json options_of(const Metric& metric) {
  Json options = sorted_options(*metric.config());
  options["name"] = metric.name();
  return options;
}

/// Keras' class of the accuracy that Accuracy measures for the targets of the loss; empty if the loss does not show it.
std::string accuracy_class(const std::optional<Loss>& loss) {
  const std::string targets = loss && loss->config() ? loss->config()->class_name : "";
  if (targets == "SparseCategoricalCrossentropy") return "SparseCategoricalAccuracy";
  if (targets == "CategoricalCrossentropy" || targets == "CategoricalFocalCrossentropy") return "CategoricalAccuracy";
  return {};
}

bool is_accuracy(const Metric& metric) { return metric.config() && metric.config()->class_name == "accuracy"; }

/// Keras chooses the kind of accuracy that fits the model, but only for these two names.
bool has_accuracys_name(const Metric& metric) { return metric.name() == "accuracy" || metric.name() == "acc"; }

Json accuracy_json(const Metric& metric, ConfigForm form, const std::optional<Loss>& loss) {
  if (has_accuracys_name(metric)) return metric.name();
  const std::string kind = accuracy_class(loss);
  if (kind.empty()) return "accuracy";
  return object_json(metric_classes().file_class(metric.name(), kind), options_of(metric), form);
}

}  // namespace

ClassRegistry<Metric, OptionVisitor>& metric_classes() {
  static ClassRegistry<Metric, OptionVisitor> classes("keras.metrics", keras_makers(),
                                                      with_means_of(keras_losses_alone));
  return classes;
}

Json metric_json(const Metric& metric, ConfigForm form, const std::optional<Loss>& loss) {
  if (!metric.config()) return function_json(metric.name(), form);
  if (is_accuracy(metric)) return accuracy_json(metric, form, loss);
  const std::string object = "the metric '" + metric.name() + "'";
  return object_json(metric_classes().file_class(object, *metric.config(), names_of_common_options), options_of(metric),
                     form);
}

void warn_of_lost_names(std::span<const Metric> metrics, const std::optional<Loss>& loss) {
  for (const Metric& metric : metrics)
    if (is_accuracy(metric) && !has_accuracys_name(metric) && accuracy_class(loss).empty())
      log_warning(
          "the metric '{0}' is saved as 'accuracy'; to keep its name, use BinaryAccuracy().with_name(\"{0}\") or the "
          "like instead of Accuracy",
          metric.name());
}

std::string Metric::get_config() const {
  require<Unsupported>(rule_.config.has_value(), "the metric '{}' is a custom one, which has no config", name_);
  return options_of(*this).dump();
}

Metric metric_from_json(const Json& value, const std::vector<Metric>& own) {
  NamedObject read = object_from_json("metric", value);
  // TensorFlow's Keras 2 stores the function that a MeanMetricWrapper takes the mean of.
  if (const Json function = read.object.options->value("fn", Json());
      read.object.class_name == "MeanMetricWrapper" && function.is_string())
    read.object.class_name = function.get<std::string>();
  if (const Metric* found = find_own(own, read)) return *found;
  const auto maker = metric_classes().find(read.object.class_name);
  require<InputError>(maker != nullptr, "lockstep has no metric '{}'{}; known are {}", read.object.class_name,
                      not_among(own), metric_classes().known_names());
  const Metric metric = make_from(maker, "metric", read.object);
  return read.name.empty() ? metric : metric.with_name(read.name);
}

}  // namespace lockstep
