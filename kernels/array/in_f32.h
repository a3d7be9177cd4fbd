#pragma once

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/real.h>

namespace lockstep {

/// f(x in f32), in x's dtype if it is f32 or bf16. Tapes record the conversions of bf16. Throws InvalidArgument naming
/// the op if x is undefined.
template <class F>
Tensor in_f32(const char* op, const Tensor& operand, const F& f) try {
  const Tensor x = as_real(op, operand);
  return cast(f(cast(x, DType::f32)), x.dtype());
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace lockstep
