#pragma once

#include <compare>
#include <optional>
#include <string>

#include <lockstep/kernels/attention/attention_kernels.h>
#include <lockstep/kernels/cuda/layout.h>

// Description of attention for cuDNN. Does not need a GPU or NVIDIA's libraries.

namespace lockstep::cudnn {

/// Whether cuDNN may compute attention of these tensors (b, time, heads, size), if it has an algorithm: of bf16, with
/// sizes of heads that are multiples of 8, without dropout, whose random numbers would not be those of CPUs, and with a
/// finite scale.
bool takes_attention(const Tensor& query, const Tensor& value, const kernels::AttentionRule& rule);

/// Whether cuDNN's kernels can read x (b, time, heads, size), bf16: heads are contiguous and begin at addresses that
/// are multiples of operand_alignment.
bool takes_strides(const Tensor& x);

/// The mask without the axes along which it is broadcast: their size is 1, except for that of the keys.
Tensor narrow_mask(const Tensor& mask);

/// Memory for kernels::MaskBias of a narrow mask: its rows begin at multiples of operand_alignment.
Tensor empty_bias(const Tensor& narrow_mask);

/// Everything except the GPU that the plan of attention depends on; the key of plans. All operands are bf16 (b, time,
/// heads, size) of strides that takes_strides accepts.
struct FusedAttention {
  /// `bias`: undefined or of empty_bias. With `dy`, the pass is the gradient.
  FusedAttention(const kernels::AttentionRule& rule, const Tensor& query, const Tensor& key, const Tensor& value,
                 const Tensor& bias, const Tensor& dy = {});

  float scale;     ///< factor of the scores
  bool is_causal;  ///< query i attends to keys 0 to i only
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
  /// Layout of the logarithms of each row's sum of exp(score), f32: dense (b, heads, tq, 1).
  Layout log_sum_exp() const;
  /// A complete description in one line: "attention of bf16 queries (8, 1024, 12, 64), keys (8, 1024, 12, 64), ...".
  std::string text() const;

  /// Compares all members.
  friend auto operator<=>(const FusedAttention&, const FusedAttention&) = default;
};

}  // namespace lockstep::cudnn
