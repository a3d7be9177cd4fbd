#include "lockstep/kernels/cuda/fused_attention.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/kernels/cuda/operands.h>

namespace lockstep::cudnn {
namespace {

/// Elements of bf16 between multiples of operand_alignment.
constexpr std::int64_t aligned_elements = operand_alignment / static_cast<std::int64_t>(size_of(DType::bf16));

bool is_whole(std::int64_t elements) { return elements > 0 && elements % aligned_elements == 0; }

/// The layout of x (b, time, heads, size), whose heads precede its time in cuDNN's order.
Layout heads_first(const Tensor& x) {
  const Shape& strides = x.strides();
  return {{x.dim(0), x.dim(2), x.dim(1), x.dim(3)}, {strides[0], strides[2], strides[1], strides[3]}};
}

/// Broadcast over the queries by strides of 0; cuDNN broadcasts axes of examples and heads whose size is 1.
Layout bias_layout(const Tensor& bias, std::int64_t queries) {
  const Shape& strides = bias.strides();
  return {{bias.dim(0), bias.dim(1), queries, bias.dim(3)},
          {strides[0], strides[1], bias.dim(2) == 1 ? 0 : strides[2], strides[3]}};
}

Layout dense(std::int64_t examples, std::int64_t heads, std::int64_t time, std::int64_t size) {
  return {{examples, heads, time, size}, {time * heads * size, size, heads * size, 1}};
}

Layout dense_like(const Layout& x) { return dense(x.sizes[0], x.sizes[1], x.sizes[2], x.sizes[3]); }

/// "(b, time, heads, size)", with the strides if they are not dense.
std::string operand_text(const Layout& x) {
  const auto text = [](const auto& n) { return Shape{n[0], n[2], n[1], n[3]}; };
  if (x == dense_like(x)) return fmt::format("{}", text(x.sizes));
  return fmt::format("{} with strides {}", text(x.sizes), text(x.strides));
}

}  // namespace

bool takes_attention(const Tensor& query, const Tensor& value, const kernels::AttentionRule& rule) {
  constexpr std::int64_t most_examples = 65'535;  // and heads: cuDNN launches a grid of them
  if (query.dim(0) > most_examples || query.dim(2) > most_examples) return false;
  return query.dtype() == DType::bf16 && is_whole(query.dim(3)) && is_whole(value.dim(3)) && std::isfinite(rule.scale);
}

bool takes_strides(const Tensor& x) {
  const Shape& strides = x.strides();
  return is_aligned(x) && strides[3] == 1 && is_whole(strides[0]) && is_whole(strides[1]) && is_whole(strides[2]);
}

Tensor narrow_mask(const Tensor& mask) {
  Tensor narrow = mask;
  for (int axis = 0; axis < 3; ++axis)
    if (mask.strides()[axis] == 0) narrow = narrow.slice_view(axis, 0, 1);
  return narrow;
}

Tensor empty_bias(const Tensor& narrow_mask) {
  const std::int64_t keys = narrow_mask.dim(3);
  const std::int64_t row = (keys + aligned_elements - 1) / aligned_elements * aligned_elements;
  return Tensor::empty({narrow_mask.dim(0), narrow_mask.dim(1), narrow_mask.dim(2), row}, DType::bf16)
      .slice_view(3, 0, keys);
}

FusedAttention::FusedAttention(const kernels::AttentionRule& rule, const Tensor& q, const Tensor& k, const Tensor& v,
                               const Tensor& added, const Tensor& gradient)
    : scale(rule.scale),
      is_causal(rule.is_causal),
      dropout_rate(rule.dropout_rate),
      query(heads_first(q)),
      key(heads_first(k)),
      value(heads_first(v)) {
  if (added.defined()) bias = bias_layout(added, q.dim(1));
  if (gradient.defined()) dy = heads_first(gradient);
}

Layout FusedAttention::y() const { return dense(query.sizes[0], query.sizes[1], query.sizes[2], value.sizes[3]); }
Layout FusedAttention::dquery() const { return dense_like(query); }
Layout FusedAttention::dkey() const { return dense_like(key); }
Layout FusedAttention::dvalue() const { return dense_like(value); }

Layout FusedAttention::log_sum_exp() const {
  const auto [examples, heads, time, size] = query.sizes;
  return {{examples, heads, time, 1}, {heads * time, time, 1, 1}};
}

std::optional<Layout> FusedAttention::seed() const {
  if (dropout_rate == 0) return {};
  return Layout{{1, 1, 1, 1}, {1, 1, 1, 1}};
}

std::string FusedAttention::text() const {
  std::string all = fmt::format("attention of bf16 queries {}, keys {}, values {}, scale {}", operand_text(query),
                                operand_text(key), operand_text(value), scale);
  if (is_causal) all += ", causal";
  if (dropout_rate > 0) all += fmt::format(", dropout {}", dropout_rate);
  if (bias)
    all += fmt::format(
        ", mask {}", Shape{bias->sizes[0], bias->sizes[1], bias->strides[2] == 0 ? 1 : bias->sizes[2], bias->sizes[3]});
  return dy ? fmt::format("gradient of {}, dy {}", all, operand_text(*dy)) : all;
}

}  // namespace lockstep::cudnn
