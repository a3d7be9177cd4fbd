#pragma once

#include <type_traits>

#include <lockstep/runtime/core/bfloat16.h>

// Elements of f32 or bf16, which are computed with in f32.

namespace lockstep::cpu {

/// To compute with.
template <class T>
[[gnu::always_inline]] inline float value_of(const T& element) {
  return static_cast<float>(element);
}

/// element = value, rounded if it has to be. By its bits: g++ leaves loops of "omp simd" that assign objects scalar.
template <class T>
[[gnu::always_inline]] inline void store(T& element, float value) {
  if constexpr (std::is_same_v<T, bfloat16>)
    element.bits = bfloat16::rounded(value);
  else
    element = value;
}

}  // namespace lockstep::cpu
