#pragma once

#include <functional>

#include <lockstep/kernels/random/random_key.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Sets each element of x (f32 or bf16) to 0 with probability `rate` and scales the others by 1 / (1 - rate). Whether
/// element i is dropped depends on (rate, key, i) alone, not on the number of threads. At rate 0, returns x itself.
/// Differentiable. Throws InvalidArgument for other dtypes and unless 0 <= rate < 1.
Tensor dropout(const Tensor& x, float rate, const RandomKey& key);
/// Like dropout above, with the key that `next_key` returns. `next_key` is called once or, if the thread captures its
/// GPU's work, at each launch of that work (GpuCapture::each_time). It is not called at rate 0.
Tensor dropout(const Tensor& x, float rate, const std::function<RandomKey()>& next_key);

}  // namespace lockstep
