#pragma once

#include <type_traits>

#include <lockstep/runtime/core/bfloat16.h>
#include <lockstep/runtime/core/host_device.h>

// The arithmetic of the element-wise ops, for one element.

namespace lockstep {

/// A separate namespace, because some layers have the same names.
namespace functor {

struct Affine {
  float scale, shift;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x * scale + shift; }
};
struct MovingAverage {
  float momentum;
  LOCKSTEP_HOST_DEVICE float operator()(float average, float value) const {
    return average * momentum + value * (1.0F - momentum);
  }
};

}  // namespace functor

/// Converts an element to another type: bf16 via f32, real numbers to integers by truncation (unspecified for NaN and
/// values beyond the range of To).
template <class To, class From>
LOCKSTEP_HOST_DEVICE To convert_element(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<From, bfloat16>)
    return convert_element<To>(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bfloat16>)
    return bfloat16(static_cast<float>(x));
  else
    return static_cast<To>(x);
}

}  // namespace lockstep
