#pragma once

#include <lockstep/kernels/kernel.h>

// Kernels around a library's attention, for masks (cuda/attention.cpp): libraries add numbers to scores instead of
// masking them, and define no result for queries that see no key.

namespace lockstep::kernels {

/// What MaskBias adds to the score of a hidden key. Its weight is then exactly 0 if the query sees another key and all
/// scores are smaller than 2^28. A larger number would not be safe: kernels that multiply score and maximum by log2(e)
/// separately would be off by more than the exponents of f32 where the first keys of a query are all hidden.
inline constexpr float hidden_bias = -0x1p29F;

/// Writes what to add to scores instead of a mask, bool (b, heads, tq, tk) of any strides: bias, bf16 rows of the
/// mask's shape, is 0 for keys that are seen, else hidden_bias. Also writes each row's first key that is seen, or tk:
/// first, i64 (b, heads, tq).
struct MaskBias {
  Tensor mask;
  Tensor bias;
  Tensor first;

  static constexpr const char* name = "mask_bias";
  auto operands() const { return kernels::operands(mask, bias, first); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

/// Completes the results of kernels::Attention, bf16, where `maximum` has the logarithms of the sums: sets `sum`, and
/// all results of queries that see no key. `first`: of MaskBias, (b, heads, tq) of any strides.
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
  void on_host() const;
  void on_gpu() const;
};

/// Adds to dvalue, bf16 (b, tk, kv_heads, dv), what queries that see no key contribute: (b, heads, tq) rows whose
/// `maximum` is attention::hidden_score. dy (b, tq, heads, dv), bf16 of any strides.
struct EqualWeightsGradient {
  Tensor dy;
  Tensor maximum;
  Tensor dvalue;

  static constexpr const char* name = "equal_weights_gradient";
  auto operands() const { return kernels::operands(dy, maximum, dvalue); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

/// The logarithms of the sums of exp(score) from the numbers that kernels::Attention writes, f32 of one shape. For
/// queries that see no key, a number with which all weights are 0.
struct LogSumExp {
  Tensor maximum;
  Tensor sum;
  Tensor y;

  static constexpr const char* name = "log_sum_exp";
  auto operands() const { return kernels::operands(maximum, sum, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

}  // namespace lockstep::kernels
