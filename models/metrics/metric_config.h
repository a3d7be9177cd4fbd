#pragma once

#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/class_registry.h>
#include <lockstep/models/metrics/metric.h>

// The JSON of metrics in Keras' files.

namespace lockstep {

/// The classes of metrics, including losses as metrics. Keras' classes and functions are registered
/// under their plain_name (object_config.h).
ClassRegistry<Metric, OptionVisitor>& metric_classes();

/// Serializes a metric of an output with the loss `loss` in Keras' JSON form. Metrics without a config and Accuracy are
/// written by name. An Accuracy with a name other than "accuracy" and "acc" is written under this name as
/// SparseCategoricalAccuracy or CategoricalAccuracy if the loss determines which of the two it is, otherwise as
/// "accuracy". Throws Unsupported, naming the metric, for a custom class that is not registered, and
/// for a registered class with an option named `dtype`, `name` or `reduction`.
nlohmann::ordered_json metric_json(const Metric& metric, ConfigForm form, const std::optional<Loss>& loss = {});
/// Logs a warning for each metric that metric_json writes under another name.
void warn_of_lost_names(std::span<const Metric> metrics, const std::optional<Loss>& loss);
/// Makes a metric from Keras' JSON object or from a name such as "mse". A metric of a known class gets the name in the
/// object, if it has one. Searches the custom metrics `own` first. Throws InputError for unknown or invalid options,
/// and for a metric that is neither in `own` nor of a known class; the message lists the known names.
Metric metric_from_json(const nlohmann::ordered_json& value, const std::vector<Metric>& own);

}  // namespace lockstep
