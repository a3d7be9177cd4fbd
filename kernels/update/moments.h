#pragma once

#include <lockstep/runtime/core/host_device.h>

namespace lockstep {

/// First and second moments of the gradients, for Adam and its variants.
struct Moments {
  /// `beta_1` and `beta_2`: decay rates of the first and the second moment.
  Moments(double beta_1, double beta_2)
      : rest_1(static_cast<float>(1 - beta_1)), rest_2(static_cast<float>(1 - beta_2)) {}

  /// Updates the moments m and v with a gradient.
  LOCKSTEP_HOST_DEVICE void add(float gradient, float& m, float& v) const {
    m = m + (gradient - m) * rest_1;
    v = v + (gradient * gradient - v) * rest_2;
  }

  float rest_1;  ///< 1 - beta_1
  float rest_2;  ///< 1 - beta_2
};

}  // namespace lockstep
