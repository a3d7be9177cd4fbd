#pragma once

#include <type_traits>

#include <lockstep/runtime/core/bfloat16.h>

// Access to f32 or bf16 elements for computations in f32.

namespace lockstep::cpu {

/// The element in f32.
template <class T>
[[gnu::always_inline]] inline float value_of(const T& element) {
  return static_cast<float>(element);
}

/// element = value, rounded to bf16 if needed. Assigns the bits, because g++ does not vectorize "omp simd" loops that
/// assign objects.
template <class T>
[[gnu::always_inline]] inline void store(T& element, float value) {
  if constexpr (std::is_same_v<T, bfloat16>)
    element.bits = bfloat16::rounded(value);
  else
    element = value;
}

}  // namespace lockstep::cpu
