#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

#include "workload.h"

namespace lockstep::cli {

/// Memory that training uses on one device, in MB of 1e6 bytes.
struct StepMemory {
  double state_mb = 0;  ///< between steps: weights, gradients, optimizer state
  double peak_mb = 0;   ///< maximum within a step, including `state_mb`
};

/// Trains one replica on `examples` synthetic examples with the model's usual optimizer. Compiles the model and changes
/// its weights. Throws OutOfMemory when memory does not suffice.
StepMemory measure_step_memory(Model& model, ModelKind kind, std::int64_t examples);

}  // namespace lockstep::cli
