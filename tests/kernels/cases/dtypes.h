#pragma once

#include <kernels/many_equals.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>

// Inputs of any dtype, for rows of ops without a gradient.

namespace lockstep::test {

inline constexpr DType all_dtypes[] = {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean};

/// Numbers of which many are equal; for f32 and bf16, they include NaN, infinities and zeros of both signs.
inline Tensor repeated_numbers(DType dtype, const Shape& shape, unsigned seed) {
  if (is_real(dtype)) return cast(many_equals(shape, seed), dtype);
  return cast(cast(random_tensor(shape, seed, -3.9, 3.9), DType::i32), dtype);
}

}  // namespace lockstep::test
