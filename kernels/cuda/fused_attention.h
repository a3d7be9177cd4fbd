#pragma once

#include <compare>
#include <optional>
#include <string>

#include <lockstep/kernels/attention/attention_kernels.h>
#include <lockstep/kernels/cuda/layout.h>

// Description of attention for cuDNN. Does not need a GPU or NVIDIA's libraries.

namespace lockstep::cudnn {

/// Whether attention of these tensors (b, time, heads, size) fulfills the conditions for cuDNN: bf16, head sizes that
/// are multiples of 8, at most 65,535 examples and at most 65,535 heads, and a finite scale. cuDNN may still have no
/// algorithm for it.
bool takes_attention(const Tensor& query, const Tensor& value, const kernels::AttentionRule& rule);

/// Whether cuDNN's kernels can read x (b, time, heads, size), bf16: the last axis has stride 1, and each example, time
/// step and head begins at a multiple of operand_alignment.
bool takes_strides(const Tensor& x);

/// The mask with every broadcast axis (stride 0) narrowed to size 1, except the axis of the keys.
Tensor narrow_mask(const Tensor& mask);

/// Uninitialized bf16 tensor for the bias that kernels::MaskBias makes from a narrow mask. Its rows begin at multiples
/// of operand_alignment.
Tensor empty_bias(const Tensor& narrow_mask);

/// The key of an attention plan: everything that the plan depends on, except the GPU. query, key, value and dy are bf16
/// (b, time, heads, size) with strides that takes_strides accepts.
struct FusedAttention {
  /// `bias`: undefined, or a tensor that empty_bias made. Describes the gradient if `dy` is defined, else the forward
  /// pass.
  FusedAttention(const kernels::AttentionRule& rule, const Tensor& query, const Tensor& key, const Tensor& value,
                 const Tensor& bias, const Tensor& dy = {});

  float scale;         ///< factor of the scores
  bool is_causal;      ///< query i attends to keys 0 to i only
  float dropout_rate;  ///< probability with which a weight is set to 0
  ///@{
  /// Layouts of the operands.
  Layout query, key, value;
  std::optional<Layout> bias;  ///< added to the scores
  std::optional<Layout> dy;    ///< for gradients only
  ///@}

  ///@{
  /// Layouts of the results: dense (b, time, heads, size). y is also an operand of the gradient.
  Layout y() const;
  Layout dquery() const;
  Layout dkey() const;
  Layout dvalue() const;
  ///@}
  /// Layout of log(sum of exp(score) over the keys) for each query, f32: dense (b, heads, tq, 1).
  Layout log_sum_exp() const;
  /// Layout of the seed and of the offset of the random numbers, i64; nothing without dropout.
  std::optional<Layout> seed() const;
  /// A complete description in one line: "attention of bf16 queries (8, 1024, 12, 64), keys (8, 1024, 12, 64), ...".
  std::string text() const;

  /// Compares all members.
  friend auto operator<=>(const FusedAttention&, const FusedAttention&) = default;
};

}  // namespace lockstep::cudnn
