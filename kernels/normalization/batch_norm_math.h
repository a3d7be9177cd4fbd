#pragma once

#include <cmath>
#include <cstdint>

#include <lockstep/runtime/core/host_device.h>

// Batch normalization of one element, z = (x - mean) * scale + beta with scale = gamma / sqrt(variance + epsilon), and
// the moments that it takes.

namespace lockstep {

/// What a second part of `other_count` elements adds to the mean and to the sum of squared deviations from it of
/// `count` others; Chan, Golub and LeVeque 1983. Precondition: other_count > 0.
struct MomentsMerge {
  LOCKSTEP_HOST_DEVICE MomentsMerge(std::int64_t count, std::int64_t other_count)
      : share(static_cast<double>(other_count) / static_cast<double>(count + other_count)),
        weight(static_cast<double>(count) * share) {}

  LOCKSTEP_HOST_DEVICE void operator()(double& mean, double& squares, double other_mean, double other_squares) const {
    const double delta = other_mean - mean;
    mean += delta * share;
    squares += other_squares + delta * delta * weight;
  }

  double share, weight;
};

/// 1 / sqrt(variance + epsilon).
LOCKSTEP_HOST_DEVICE inline double inverse_deviation(float variance, float epsilon) {
  return 1.0 / std::sqrt(static_cast<double>(variance) + epsilon);
}

LOCKSTEP_HOST_DEVICE inline float channel_scale(float gamma, double inverse) {
  return static_cast<float>(gamma * inverse);
}

/// z, or with `relu` what a ReLU makes of it, which keeps NaN.
template <bool relu>
LOCKSTEP_HOST_DEVICE float normalized(float deviation, float scale, float beta) {
  const float z = deviation * scale + beta;
  return relu && z <= 0 ? 0 : z;
}

/// dy where the ReLU passed x on; the same expression as in `normalized`, so that both decide alike.
template <bool relu>
LOCKSTEP_HOST_DEVICE float active(float deviation, float scale, float beta, float dy) {
  return relu && deviation * scale + beta <= 0 ? 0 : dy;
}

/// What the gradient with respect to x loses because mean and variance depend on it:
/// dx = scale * g - (offset + (x - mean) * slope).
struct MomentsGradient {
  /// `count` is that of the elements which mean and variance are of; 0 when they do not depend on x.
  LOCKSTEP_HOST_DEVICE MomentsGradient(float scale, double inverse, float dgamma, float dbeta, std::int64_t count) {
    if (count == 0) return;
    const double share = scale / static_cast<double>(count);
    offset = static_cast<float>(dbeta * share);
    slope = static_cast<float>(dgamma * inverse * share);
  }
  LOCKSTEP_HOST_DEVICE MomentsGradient(float offset_of, float slope_of) : offset(offset_of), slope(slope_of) {}

  LOCKSTEP_HOST_DEVICE float operator()(float scale, float g, float deviation) const {
    return scale * g - (offset + deviation * slope);
  }

  float offset = 0, slope = 0;
};

}  // namespace lockstep
