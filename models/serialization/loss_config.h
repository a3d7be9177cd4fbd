#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/losses/loss.h>
#include <lockstep/models/metrics/metric.h>
#include <lockstep/models/serialization/network_config.h>

// Losses and metrics in Keras' files. The functions that read throw InputError, naming loss or metric and what would be
// right, for what is neither known here nor among `own`, which is found by name.

namespace lockstep {

///@{
/// Keras' object, or the name of one of a program's own.
nlohmann::ordered_json loss_json(const Loss& loss, ConfigForm form);
nlohmann::ordered_json metric_json(const Metric& metric, ConfigForm form);
///@}

/// From an object or a name such as "mse".
Loss loss_from_json(const nlohmann::ordered_json& value, const std::vector<Loss>& own);
/// Likewise, under the name that the file has for it.
Metric metric_from_json(const nlohmann::ordered_json& value, const std::vector<Metric>& own);

}  // namespace lockstep
