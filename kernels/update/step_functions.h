#pragma once

#include <lockstep/kernels/update/update.h>
#include <lockstep/runtime/core/host_device.h>

// The operations of a step on one element, except its rule.

namespace lockstep {

/// The gradient after scaling and clipping, as the rule gets it. NaN stays NaN.
LOCKSTEP_HOST_DEVICE inline float scaled_and_clipped(const StepOptions& step, float gradient) {
  gradient *= step.gradient_scale;
  const float above = gradient < -step.clip_value ? -step.clip_value : gradient;
  return above > step.clip_value ? step.clip_value : above;
}

LOCKSTEP_HOST_DEVICE inline float decayed(const StepOptions& step, float w) { return w - w * step.decay; }

LOCKSTEP_HOST_DEVICE inline float averaged(const StepOptions& step, float average, float w) {
  return step.average_momentum * average + (1 - step.average_momentum) * w;
}

}  // namespace lockstep
