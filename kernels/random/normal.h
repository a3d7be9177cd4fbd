#pragma once

#include <functional>

#include <lockstep/kernels/random/random_key.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Normally distributed random numbers with the given mean and standard deviation, f32 or bf16, on the calling thread's
/// device. The standard normal number from which element i is computed depends on (key, i) alone. `next_key` is called
/// once or, if the thread captures its GPU's work, at each launch of that work (GpuCapture::each_time). Throws
/// InvalidArgument for other dtypes, a negative stddev, and a mean or stddev that is not finite.
Tensor normal(const Shape& shape, double mean, double stddev, const std::function<RandomKey()>& next_key,
              DType dtype = DType::f32);

}  // namespace lockstep
