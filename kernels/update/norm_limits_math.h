#pragma once

#include <lockstep/kernels/update/norm_limit_options.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// The factor by which a vector of norm `norm` is multiplied to apply `limits` (formula: NormLimits), as in Keras 3's
/// MinMaxNorm. NaN if `norm` is NaN.
LOCKSTEP_HOST_DEVICE inline double norm_factor(const NormLimits& limits, double norm) {
  const double large = norm < limits.min_value ? limits.min_value : norm;
  const double within = large > limits.max_value ? limits.max_value : large;
  return (limits.rate * within + (1 - limits.rate) * norm) / (limits.epsilon + norm);
}

}  // namespace lockstep
