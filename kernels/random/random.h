#pragma once

#include <cstdint>
#include <functional>

#include <lockstep/kernels/random/random_key.h>
#include <lockstep/runtime/tensor/tensor.h>

// More functions of keras.random; normal is in normal.h and dropout in dropout.h. Results are on the calling thread's
// device. Except in shuffle, element i depends only on the key, i and the distribution, not on the shape or the number
// of threads. `next_key` is called once or, if the thread captures its GPU's work, at each launch of that work
// (GpuCapture::each_time). Not differentiable, except shuffle.

namespace lockstep {

/// Uniformly distributed numbers in [minval, maxval), f32 or bf16; rounding to the dtype may give maxval. Throws
/// InvalidArgument for other dtypes, and unless minval <= maxval and maxval - minval is finite.
Tensor uniform(const Shape& shape, double minval, double maxval, const std::function<RandomKey()>& next_key,
               DType dtype = DType::f32);

/// Like normal, but numbers that are two or more standard deviations from the mean are redrawn. Throws the errors of
/// normal.
Tensor truncated_normal(const Shape& shape, double mean, double stddev, const std::function<RandomKey()>& next_key,
                        DType dtype = DType::f32);

/// Uniformly distributed integers in [minval, maxval), i32, i64 or u8. As in TensorFlow, if maxval - minval is not a
/// power of two, some integers are slightly more probable, by a factor of about 1 + (maxval - minval) / 2^64. Throws
/// InvalidArgument for other dtypes, an empty range, and a range that exceeds the dtype's range.
Tensor randint(const Shape& shape, std::int64_t minval, std::int64_t maxval, const std::function<RandomKey()>& next_key,
               DType dtype = DType::i32);

/// Binomially distributed numbers, f32 or bf16: each is the number of successes in `counts` independent trials with
/// probability `probabilities`. One trial gives Bernoulli's distribution. Takes time in proportion to `counts`. Throws
/// InvalidArgument for other dtypes, negative counts, and probabilities outside [0, 1].
Tensor binomial(const Shape& shape, std::int64_t counts, double probabilities,
                const std::function<RandomKey()>& next_key, DType dtype = DType::f32);

/// For each row of logits (rows, classes), f32 or bf16, `num_samples` independent classes drawn with the probabilities
/// softmax(row): (rows, num_samples) i32 or i64. A class whose logit is -inf is never drawn. For a row that contains
/// NaN or +inf, or only -inf, the drawn classes are unspecified. Throws InvalidArgument for other shapes and dtypes, no
/// classes, and a negative num_samples.
Tensor categorical(const Tensor& logits, std::int64_t num_samples, const std::function<RandomKey()>& next_key,
                   DType dtype = DType::i32);

/// x, of any dtype, with its slices along `axis` in random order; a negative axis counts from the end. Differentiable.
/// Throws InvalidArgument for an axis that x does not have. On GPUs, throws Unsupported for 2^31 slices or more.
Tensor shuffle(const Tensor& x, const std::function<RandomKey()>& next_key, int axis = 0);

}  // namespace lockstep
