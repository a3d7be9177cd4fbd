#pragma once

#include <lockstep/kernels/cpu/onednn.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>

// Functions for bf16 kernels on processors that do not multiply bf16 faster than f32. The kernels convert their
// operands to f32, compute in f32 and round the result to bf16.

namespace lockstep::cpu {

/// Whether x is bf16 and the processor does not multiply bf16 faster than f32.
inline bool better_wide(const Tensor& x) { return x.dtype() == DType::bf16 && !onednn::has_fast_bfloat16(); }

/// x itself if it is f32, else a copy in f32.
inline Tensor widened(const Tensor& x) {
  if (x.dtype() == DType::f32) return x;
  const Tensor wide = Tensor::empty(x.shape());
  kernels::Convert{x, wide}.on_cpu();
  return wide;
}

/// Calls compute(wide), which must fill `wide`, an f32 tensor of result's shape. Then copies `wide` to `result`,
/// rounded to result's dtype.
template <class Compute>
void narrowed(const Tensor& result, const Compute& compute) {
  const Tensor wide = Tensor::empty(result.shape());
  compute(wide);
  kernels::Convert{wide, result}.on_cpu();
}

}  // namespace lockstep::cpu
