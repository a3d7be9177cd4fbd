#pragma once

#include <cstdint>
#include <memory>

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/random/random_key.h>

namespace lockstep::kernels {

/// Options of lockstep::dot_product_attention (attention.h). The mask is undefined or bool (b, heads, tq, tk),
/// with stride 0 along broadcast axes. `key` determines the random numbers of dropout.
struct AttentionRule {
  float scale;
  bool is_causal;
  Tensor mask;
  float dropout_rate;
  RandomKey key;
  /// On GPUs, the forward pass with dropout writes here who draws the random numbers, and the gradient reads it: 0 if
  /// lockstep's kernels do, else the number of consecutive examples for which cuDNN draws them from one seed. If it is
  /// null, lockstep's kernels draw them.
  std::shared_ptr<std::int64_t> examples_per_seed{};
};

/// Computes y (b, tq, heads, dv), the lockstep::dot_product_attention of query (b, tq, heads, d), key (b, tk, kv_heads,
/// d) and value (b, tk, kv_heads, dv); f32 or bf16. The operands may have any strides. Also writes `maximum` and `sum`,
/// (b, heads, tq) f32, such that the weight of a score is exp(score - maximum) / sum. lockstep's own kernels set
/// `maximum` to the largest score and `sum` to the sum of exp(score - maximum). cuDNN's kernel sets `maximum` to the
/// logarithm of the sum of exp(score), and `sum` to 1. For a query that may not attend to any key, `maximum` is
/// attention::hidden_score.
struct Attention {
  Tensor query;
  Tensor key;
  Tensor value;
  AttentionRule rule;
  Tensor y;
  Tensor maximum;
  Tensor sum;

  static constexpr const char* name = "attention";
  auto operands() const { return kernels::operands(query, key, value, rule.mask, y, maximum, sum); }
  void on_cpu() const;
  void on_gpu() const;
};

/// lockstep's own GPU implementation of Attention, used where cuDNN has no algorithm. Tests also run it on the CPU.
struct AttentionByRows : Attention {
  template <class Executor>
  void run(Executor& on) const;
};

/// Computes the dense gradients dquery, dkey and dvalue from dy, which may have any strides, and from the operands and
/// results of Attention.
struct AttentionGradient {
  Tensor query;
  Tensor key;
  Tensor value;
  AttentionRule rule;
  Tensor y;
  Tensor maximum;
  Tensor sum;
  Tensor dy;
  Tensor dquery;
  Tensor dkey;
  Tensor dvalue;

  static constexpr const char* name = "attention_gradient";
  auto operands() const {
    return kernels::operands(query, key, value, rule.mask, y, maximum, sum, dy, dquery, dkey, dvalue);
  }
  void on_cpu() const;
  void on_gpu() const;
};

/// lockstep's own GPU implementation of AttentionGradient, used where cuDNN has no algorithm. Tests also run it on the
/// CPU.
struct AttentionGradientByRows : AttentionGradient {
  template <class Executor>
  void run(Executor& on) const;
};

}  // namespace lockstep::kernels
