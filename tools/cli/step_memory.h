#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

#include "workload.h"

namespace lockstep::cli {

/// What training takes on one device, in MB of 1e6 bytes.
struct StepMemory {
  double state_mb = 0;  ///< between steps: weights, their gradients, the optimizer's state
  double peak_mb = 0;   ///< at most, within a step; of it `state_mb`
};

/// Measured by training steps on `examples` synthetic ones with the model's usual optimizer, by one replica. Leaves the
/// model trained. Throws OutOfMemory where there is too little.
StepMemory measure_step_memory(Model& model, ModelKind kind, std::int64_t examples);

}  // namespace lockstep::cli
