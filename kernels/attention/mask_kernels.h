#pragma once

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/random/random_key.h>

// Kernels for attention with a mask or dropout on cuDNN (cuda/attention.cpp). cuDNN takes no boolean mask: it can only
// add a bias to the scores, and does not define the result for a query that may not attend to any key. It draws the
// random numbers of dropout itself, from a seed in the GPU's memory.

namespace lockstep::kernels {

/// The number that MaskBias adds to the score of a masked key. The key's weight is then exactly 0 if another key of the
/// query is not masked and all scores are smaller than 2^28. A larger magnitude would fail where the first keys of a
/// query are all masked: a kernel that multiplies the score and the maximum by log2(e) separately makes a rounding
/// error, and 2 to the power of this error would overflow f32.
inline constexpr float hidden_bias = -0x1p29F;

/// Converts a mask, bool (b, heads, tq, tk) of any strides, to numbers to add to the scores. `bias`, bf16 rows of the
/// mask's shape, is 0 for keys that the query attends to and hidden_bias for masked keys. `first`, i64 (b, heads, tq),
/// is the index of the first key that the query attends to, or tk if all keys are masked.
struct MaskBias {
  Tensor mask;
  Tensor bias;
  Tensor first;

  static constexpr const char* name = "mask_bias";
  auto operands() const { return kernels::operands(mask, bias, first); }
  template <class Executor>
  void run(Executor& on) const;
};

/// Completes the results of kernels::Attention, bf16, after cuDNN has written y and has set `maximum` to the logarithm
/// of each query's sum of exp(score). Sets `sum` to 1. For queries that attend to no key, sets y to the mean of the
/// values (without dropout), `maximum` to attention::hidden_score and `sum` to the number of keys instead. `first` is
/// the result of MaskBias, (b, heads, tq) of any strides.
struct EqualWeights {
  Tensor value;
  Tensor first;
  bool is_causal;
  Tensor y;
  Tensor maximum;
  Tensor sum;

  static constexpr const char* name = "equal_weights";
  auto operands() const { return kernels::operands(value, first, y, maximum, sum); }
  template <class Executor>
  void run(Executor& on) const;
};

/// Adds the contributions of queries that attend to no key to dvalue, bf16 (b, tk, kv_heads, dv). These are the queries
/// whose `maximum` (b, heads, tq) is attention::hidden_score. dy (b, tq, heads, dv) is bf16 of any strides.
struct EqualWeightsGradient {
  Tensor dy;
  Tensor maximum;
  Tensor dvalue;

  static constexpr const char* name = "equal_weights_gradient";
  auto operands() const { return kernels::operands(dy, maximum, dvalue); }
  template <class Executor>
  void run(Executor& on) const;
};

/// Computes y, the logarithm of each query's sum of exp(score), from the `maximum` and the `sum` that
/// kernels::Attention writes; all f32 of one shape. For a query that attends to no key, y is so large that all weights
/// exp(score - y) are 0.
struct LogSumExp {
  Tensor maximum;
  Tensor sum;
  Tensor y;

  static constexpr const char* name = "log_sum_exp";
  auto operands() const { return kernels::operands(maximum, sum, y); }
  template <class Executor>
  void run(Executor& on) const;
};

/// Writes the seeds and offsets of cuDNN's random numbers to `seeds`, i64 (parts, 2, 2). Part i has the seed
/// seeds[i, 0, 0], random bits from `key` and i alone, and the offset seeds[i, 1, 0], which is 0. The other elements
/// align both to 16 bytes.
struct DropoutSeeds {
  RandomKey key;
  Tensor seeds;

  static constexpr const char* name = "dropout_seeds";
  auto operands() const { return kernels::operands(seeds); }
  template <class Executor>
  void run(Executor& on) const;
};

}  // namespace lockstep::kernels
