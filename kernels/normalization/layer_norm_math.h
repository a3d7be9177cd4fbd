#pragma once

#include <cmath>

#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// Mean and 1 / sqrt(variance + epsilon) of a row.
struct RowMoments {
  float mean, inverse;

  /// Computes the moments from the mean and the sum of squared deviations of n elements.
  LOCKSTEP_HOST_DEVICE static RowMoments of(float mean, float squares, float n, float epsilon) {
    return {mean, 1.0F / std::sqrt(squares / n + epsilon)};
  }
  /// z, the normalized x.
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return (x - mean) * inverse; }
  /// Computes dx from g = dy * gamma, z, and the row's means of g and of g z.
  LOCKSTEP_HOST_DEVICE float gradient(float g, float z, float mean_g, float mean_gz) const {
    return inverse * (g - mean_g - z * mean_gz);
  }
};

}  // namespace lockstep
