#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/metrics/metric.h>

// The JSON of metrics in Keras' files.

namespace lockstep {

/// Serializes a metric in Keras' JSON form. "accuracy" and custom metrics are written by name.
nlohmann::ordered_json metric_json(const Metric& metric, ConfigForm form);
/// Reads Keras' object or a name such as "mse"; a supported metric gets the name in the object, if there is one. `own`:
/// custom metrics; they are searched by name before the built-in metrics. Throws InputError, listing the supported
/// names, for a metric that is neither supported nor in `own`; also for unknown or invalid options.
Metric metric_from_json(const nlohmann::ordered_json& value, const std::vector<Metric>& own);

}  // namespace lockstep
