#pragma once

#include <lockstep/kernels/cpu/onednn.h>
#include <lockstep/kernels/ops/layout.h>

// bf16 on processors that are no faster with it: computed in f32, and rounded. By the table that computes, which need
// not be the calling thread's.

namespace lockstep::cpu {

/// Whether products of x's elements, which are bf16, are better computed in f32.
inline bool better_wide(const Tensor& x) { return x.dtype() == DType::bf16 && !onednn::has_fast_bfloat16(); }

/// x in f32.
inline Tensor widened(Backend& backend, const Tensor& x) { return in_dtype(DType::f32, x, backend); }

/// result = what compute(f32 tensor) writes, rounded.
template <class Compute>
void narrowed(Backend& backend, const Tensor& result, const Compute& compute) {
  const Tensor wide = Tensor::empty(result.shape());
  compute(wide);
  backend.convert(wide, result);
}

}  // namespace lockstep::cpu
