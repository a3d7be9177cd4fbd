#pragma once

#include <cmath>
#include <cstdint>

#include <lockstep/runtime/core/host_device.h>

// Batch normalization of one element, z = (x - mean) * scale + beta with scale = gamma / sqrt(variance + epsilon), and
// the merging of moments.

namespace lockstep {

/// Merges the moments (mean and sum of squared deviations) of `other_count` elements into the moments of `count`
/// elements (Chan, Golub and LeVeque 1983). Precondition: other_count > 0.
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

/// 1 / sqrt(variance + epsilon), in f32. On a GPU, every thread computes it for its channels; in f64, this would take
/// longer than processing the rows of small images.
LOCKSTEP_HOST_DEVICE inline float inverse_deviation(float variance, float epsilon) {
  return 1.0F / std::sqrt(variance + epsilon);
}

/// Returns z or, with `relu`, max(0, z); NaN stays NaN.
template <bool relu>
LOCKSTEP_HOST_DEVICE float rectified(float z) {
  return relu && z <= 0 ? 0 : z;
}

/// The gradient of a ReLU from its result y: dy where y > 0, else 0. As in the gradient of the op relu, NaN gives 0.
LOCKSTEP_HOST_DEVICE inline float active_by_result(float y, float dy) { return y > 0 ? dy : 0; }

template <bool relu>
LOCKSTEP_HOST_DEVICE float normalized(float deviation, float scale, float beta) {
  return rectified<relu>(deviation * scale + beta);
}

/// Returns dy or, with `relu`, 0 where the ReLU's argument was at most 0. Evaluates the same expression as
/// `normalized`, so that both agree on where the ReLU is active.
template <bool relu>
LOCKSTEP_HOST_DEVICE float active(float deviation, float scale, float beta, float dy) {
  return relu && deviation * scale + beta <= 0 ? 0 : dy;
}

/// The gradient with respect to x: dx = scale * g - (offset + (x - mean) * slope), where g is the result of `active`.
/// The terms in parentheses come from the dependence of mean and variance on x.
struct MomentsGradient {
  /// `count`: number of elements from which mean and variance were computed; 0 if they do not depend on x.
  LOCKSTEP_HOST_DEVICE MomentsGradient(float scale, float inverse, float dgamma, float dbeta, std::int64_t count) {
    if (count == 0) return;
    const float share = scale / static_cast<float>(count);
    offset = dbeta * share;
    slope = dgamma * inverse * share;
  }
  LOCKSTEP_HOST_DEVICE MomentsGradient(float offset_of, float slope_of) : offset(offset_of), slope(slope_of) {}

  LOCKSTEP_HOST_DEVICE float operator()(float scale, float g, float deviation) const {
    return scale * g - (offset + deviation * slope);
  }

  float offset = 0, slope = 0;
};

}  // namespace lockstep
