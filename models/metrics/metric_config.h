#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/metrics/metric.h>

// The JSON of metrics in Keras' files.

namespace lockstep {

/// Serializes a metric in Keras' JSON form. "accuracy" and custom metrics are written by name.
nlohmann::ordered_json metric_json(const Metric& metric, ConfigForm form);
/// Makes a metric from Keras' JSON object or from a name such as "mse". A supported metric gets the name in the object,
/// if it has one. Searches the custom metrics `own` first. Throws InputError for unknown or invalid options, and for a
/// metric that is neither supported nor in `own`, listing the supported names.
Metric metric_from_json(const nlohmann::ordered_json& value, const std::vector<Metric>& own);

}  // namespace lockstep
