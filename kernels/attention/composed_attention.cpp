#include "lockstep/kernels/attention/composed_attention.h"

#include <cmath>
#include <limits>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/random/dropout.h>

namespace lockstep {

Tensor causal_mask(std::int64_t queries, std::int64_t keys) {
  return tril(Tensor::full({1, queries, keys}, 1, DType::boolean));
}

Tensor attention_weights(const Tensor& query, const Tensor& key, const AttentionOptions& options) {
  const std::int64_t heads = query.dim(2);
  const Shape whole{query.dim(0), heads, query.dim(1), key.dim(1)};
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<float>(query.dim(3))));
  const Tensor queries = reshape(query, {query.dim(0), query.dim(1), key.dim(2), heads / key.dim(2), query.dim(3)});
  Tensor scores = reshape(cast(einsum("bqhgd,bkhd->bhgqk", queries, key), DType::f32), whole) * scale;
  if (options.bias.defined()) scores = scores + cast(options.bias, DType::f32);
  // Finite, because the softmax of a query whose keys are all masked would be NaN with -inf.
  constexpr double hidden = std::numeric_limits<float>::lowest();
  if (options.is_causal) scores = where(causal_mask(whole[2], whole[3]), scores, hidden);
  if (options.mask.defined()) scores = where(options.mask, scores, hidden);
  return cast(softmax(scores), query.dtype());
}

Tensor weighted_values(const Tensor& weights, const Tensor& value, const AttentionOptions& options) {
  const Tensor kept = dropout(weights, options.dropout_rate, options.next_key);
  const std::int64_t heads = weights.dim(1);
  const Shape grouped{weights.dim(0), value.dim(2), heads / value.dim(2), weights.dim(2), weights.dim(3)};
  const Tensor values = einsum("bhgqk,bkhd->bqhgd", reshape(kept, grouped), value);
  return reshape(values, {weights.dim(0), weights.dim(2), heads, value.dim(3)});
}

}  // namespace lockstep
