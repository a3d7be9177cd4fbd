#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace lockstep {

/// The weights times the power of two that brings the largest into [1, 2), so that no sum or product of them overflows
/// or is rounded differently; the smallest weights may become 0. Precondition: the weights are finite, not negative and
/// not all 0.
inline std::vector<double> scaled_weights(std::span<const double> weights) {
  std::vector<double> scaled(weights.begin(), weights.end());
  const int exponent = std::ilogb(std::ranges::max(scaled));
  for (double& weight : scaled) weight = std::scalbn(weight, -exponent);
  return scaled;
}

}  // namespace lockstep
