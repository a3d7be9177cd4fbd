#pragma once

#include <lockstep/kernels/cpu/onednn.h>
#include <lockstep/kernels/ops/layout.h>

// bf16 on processors for which oneDNN has no kernels of it: computed in f32, and rounded.

namespace lockstep::cpu {

/// Whether products of x's elements can only be computed in f32.
inline bool only_wide(const Tensor& x) { return x.dtype() == DType::bf16 && !onednn::computes_bfloat16(); }

/// x in f32.
inline Tensor widened(const Tensor& x) { return in_dtype(DType::f32, x); }

/// result = what compute(f32 tensor) writes, rounded.
template <class Compute>
void narrowed(const Tensor& result, const Compute& compute) {
  const Tensor wide = Tensor::empty(result.shape());
  compute(wide);
  current_backend().convert(wide, result);
}

}  // namespace lockstep::cpu
