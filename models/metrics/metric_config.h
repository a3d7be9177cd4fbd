#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/metrics/metric.h>

// Metrics in Keras' files.

namespace lockstep {

/// Keras' object, or the name of one of a program's own.
nlohmann::ordered_json metric_json(const Metric& metric, ConfigForm form);
/// From an object or a name such as "mse", under the name that the file has for it. Throws InputError, naming the
/// metric and what would be right, for what is neither known here nor among `own`, which is found by name.
Metric metric_from_json(const nlohmann::ordered_json& value, const std::vector<Metric>& own);

}  // namespace lockstep
