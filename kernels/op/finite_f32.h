#pragma once

#include <cmath>
#include <limits>

namespace lockstep {

/// Whether `number` is finite and in the range of f32.
inline bool is_finite_f32(double number) {
  return std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());  // false for NaN
}

}  // namespace lockstep
