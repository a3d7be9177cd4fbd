#pragma once

#include <cstdint>

#include <lockstep/runtime/core/host_device.h>

// Reductions as a start value, a step and an end.

namespace lockstep {

/// The replicas' values of one element, in order. NaN wins over numbers in `max` and `min`.
struct SumOfReplicas {
  LOCKSTEP_HOST_DEVICE float combine(float a, float b) const { return a + b; }
  LOCKSTEP_HOST_DEVICE float finish(float a, float) const { return a; }
};
struct MeanOfReplicas {
  LOCKSTEP_HOST_DEVICE float combine(float a, float b) const { return a + b; }
  LOCKSTEP_HOST_DEVICE float finish(float a, float replicas) const { return a / replicas; }
};
struct MaxOfReplicas {
  LOCKSTEP_HOST_DEVICE float combine(float a, float b) const { return a >= b || a != a ? a : b; }
  LOCKSTEP_HOST_DEVICE float finish(float a, float) const { return a; }
};
struct MinOfReplicas {
  LOCKSTEP_HOST_DEVICE float combine(float a, float b) const { return a <= b || a != a ? a : b; }
  LOCKSTEP_HOST_DEVICE float finish(float a, float) const { return a; }
};

/// The largest value so far and where it stood first.
struct Largest {
  float value = 0;
  std::int64_t index = 0;

  /// The candidate must come from a later index.
  LOCKSTEP_HOST_DEVICE void offer(float candidate, std::int64_t at) {
    if (candidate > value) {
      value = candidate;
      index = at;
    }
  }
};

}  // namespace lockstep
