#include "lockstep/kernels/random/random.h"

#include <cmath>
#include <limits>

#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/random/random_kernels.h>
#include <lockstep/runtime/autograd/repeated_values.h>
#include <lockstep/runtime/device/gpu_capture.h>

namespace lockstep {
namespace {

/// A tensor that the kernel kernel_of(key, tensor) fills.
template <class KernelOf>
Tensor drawn(const Shape& shape, DType dtype, const std::function<RandomKey()>& next_key, const KernelOf& kernel_of) {
  const Tensor y = Tensor::empty(shape, dtype);
  GpuCapture::each_time([=, key = repeated_function(next_key)] { launch(kernel_of(key(), y)); });
  return y;
}

/// Whether all integers of [minval, maxval) have this dtype.
bool holds_range(DType dtype, std::int64_t minval, std::int64_t maxval) {
  return visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bfloat16>)
      return false;
    else
      return minval >= static_cast<std::int64_t>(std::numeric_limits<T>::lowest()) &&
             maxval - 1 <= static_cast<std::int64_t>(std::numeric_limits<T>::max());
  });
}

}  // namespace

Tensor uniform(const Shape& shape, double minval, double maxval, const std::function<RandomKey()>& next_key,
               DType dtype) try {
  require(is_real(dtype), "uniform gives f32 or bf16, not {}", name(dtype));
  require(std::isfinite(maxval - minval) && minval <= maxval, "uniform takes a finite range, got [{}, {})", minval,
          maxval);
  return drawn(shape, dtype, next_key, [=](const RandomKey& key, const Tensor& y) {
    return kernels::Uniform{minval, maxval, key, y};
  });
} catch (Error& error) {
  rethrow_from("uniform", error);
}

Tensor truncated_normal(const Shape& shape, double mean, double stddev, const std::function<RandomKey()>& next_key,
                        DType dtype) try {
  require(is_real(dtype), "truncated_normal gives f32 or bf16, not {}", name(dtype));
  require(std::isfinite(mean) && std::isfinite(stddev) && stddev >= 0,
          "truncated_normal takes a finite mean and a stddev of at least 0, got {} and {}", mean, stddev);
  return drawn(shape, dtype, next_key, [=](const RandomKey& key, const Tensor& y) {
    return kernels::TruncatedNormal{mean, stddev, key, y};
  });
} catch (Error& error) {
  rethrow_from("truncated_normal", error);
}

Tensor randint(const Shape& shape, std::int64_t minval, std::int64_t maxval, const std::function<RandomKey()>& next_key,
               DType dtype) try {
  require(is_integer(dtype) || dtype == DType::u8, "randint gives i32, i64 or u8, not {}", name(dtype));
  require(minval < maxval && holds_range(dtype, minval, maxval), "randint takes a range of {}, got [{}, {})",
          name(dtype), minval, maxval);
  return drawn(shape, dtype, next_key, [=](const RandomKey& key, const Tensor& y) {
    return kernels::RandomIntegers{minval, maxval, key, y};
  });
} catch (Error& error) {
  rethrow_from("randint", error);
}

Tensor binomial(const Shape& shape, std::int64_t counts, double probabilities,
                const std::function<RandomKey()>& next_key, DType dtype) try {
  require(is_real(dtype), "binomial gives f32 or bf16, not {}", name(dtype));
  require(counts >= 0 && probabilities >= 0 && probabilities <= 1,
          "binomial takes counts of at least 0 and probabilities from 0 to 1, got {} and {}", counts, probabilities);
  return drawn(shape, dtype, next_key, [=](const RandomKey& key, const Tensor& y) {
    return kernels::Binomial{counts, probabilities, key, y};
  });
} catch (Error& error) {
  rethrow_from("binomial", error);
}

Tensor categorical(const Tensor& logits, std::int64_t num_samples, const std::function<RandomKey()>& next_key,
                   DType dtype) try {
  require_real("categorical", logits);
  require(logits.rank() == 2 && logits.dim(1) >= 1, "categorical takes logits (rows, classes), got {}", logits);
  require(num_samples >= 0, "categorical takes a num_samples of at least 0, got {}", num_samples);
  require(is_integer(dtype), "categorical gives i32 or i64, not {}", name(dtype));
  const Tensor rows = make_dense(to_current_device(logits));
  return drawn({rows.dim(0), num_samples}, dtype, next_key, [=](const RandomKey& key, const Tensor& y) {
    return kernels::Categorical{rows, key, y};
  });
} catch (Error& error) {
  rethrow_from("categorical", error);
}

Tensor shuffle(const Tensor& x, const std::function<RandomKey()>& next_key, int axis) try {
  require_defined("shuffle", x);
  axis = x.shape().normalize_axis(axis);
  const Tensor order = drawn({x.dim(axis)}, DType::i64, next_key, [](const RandomKey& key, const Tensor& y) {
    return kernels::Permutation{key, y};
  });
  return take(x, order, axis);
} catch (Error& error) {
  rethrow_from("shuffle", error);
}

}  // namespace lockstep
