#include "lockstep/kernels/random/normal.h"

#include <cmath>

#include <lockstep/kernels/random/random_kernels.h>
#include <lockstep/runtime/autograd/repeated_values.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/gpu_capture.h>

namespace lockstep {

Tensor normal(const Shape& shape, double mean, double stddev, const std::function<RandomKey()>& next_key,
              DType dtype) try {
  require(is_real(dtype), "normal gives f32 or bf16, not {}", name(dtype));
  require(std::isfinite(mean) && std::isfinite(stddev) && stddev >= 0,
          "normal takes a finite mean and a stddev of at least 0, got {} and {}", mean, stddev);
  const Tensor y = Tensor::empty(shape, dtype);
  GpuCapture::each_time([=, key = repeated_function(next_key)] { launch(kernels::Normal{mean, stddev, key(), y}); });
  return y;
} catch (Error& error) {
  rethrow_from("normal", error);
}

}  // namespace lockstep
