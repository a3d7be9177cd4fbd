#pragma once

#include <cmath>

#include <lockstep/kernels/common/math.h>

// Binary cross-entropy of one element, loss and gradient with respect to x.

namespace lockstep {

struct BinaryCrossEntropyFromLogits {
  /// max(x, 0) - x t + log(1 + exp(-|x|)), which no x overflows.
  LOCKSTEP_HOST_DEVICE float operator()(float x, float target) const {
    return (x > 0.0F ? x : 0.0F) - x * target + std::log1p(exp_f32(-std::fabs(x)));
  }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float target, float dloss) const {
    return dloss * (sigmoid_f32(x) - target);
  }
};

/// As Keras 3: probabilities are clipped to [1e-7, 1 - 1e-7], and clipped ones have no gradient.
struct BinaryCrossEntropyFromProbabilities {
  static constexpr float lowest = 1e-7F;
  static constexpr float highest = 1.0F - 1e-7F;

  LOCKSTEP_HOST_DEVICE float operator()(float x, float target) const {
    const float p = x < lowest ? lowest : x > highest ? highest : x;
    return -(target * std::log(p) + (1.0F - target) * std::log(1.0F - p));
  }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float target, float dloss) const {
    const bool clipped = x < lowest || x > highest;
    return clipped ? 0.0F : dloss * (x - target) / (x * (1.0F - x));
  }
};

}  // namespace lockstep
