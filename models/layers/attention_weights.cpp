#include "lockstep/models/layers/attention_weights.h"

#include <cmath>
#include <limits>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep {

Tensor causal_mask(std::int64_t queries, std::int64_t keys) {
  return tril(Tensor::full({1, queries, keys}, 1, DType::boolean));
}

Tensor sees_any_key(const Tensor& mask, bool is_causal, std::int64_t queries) {
  const Tensor any_key = any(mask, {-1}, true);
  if (!is_causal) return any_key;
  const Tensor own_place = reshape(arange(static_cast<double>(queries), DType::i64), {1, 1, queries, 1});
  return logical_and(any_key, less_equal(argmax(mask, -1, true), own_place));
}

AttendedValues attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionOptions& options) {
  const std::int64_t b = query.dim(0);
  const std::int64_t heads = query.dim(2);
  const Shape grouped{b, key.dim(2), heads / key.dim(2), query.dim(1), key.dim(1)};
  const Shape whole{b, heads, query.dim(1), key.dim(1)};
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<float>(query.dim(3))));
  const Tensor queries = reshape(query, {b, query.dim(1), grouped[1], grouped[2], query.dim(3)});
  Tensor scores = reshape(cast(einsum("bqhgd,bkhd->bhgqk", queries, key), DType::f32), whole) * scale;
  // Finite, because the softmax of a query whose keys are all masked would be NaN with -inf.
  constexpr double hidden = std::numeric_limits<float>::lowest();
  if (options.is_causal) scores = where(causal_mask(whole[2], whole[3]), scores, hidden);
  if (options.mask.defined()) scores = where(options.mask, scores, hidden);
  Tensor weights = cast(softmax(scores), query.dtype());
  if (options.mask.defined()) weights = where(sees_any_key(options.mask, options.is_causal, query.dim(1)), weights, 0);
  const Tensor kept = dropout(weights, options.dropout_rate, options.next_key);
  const Tensor values = einsum("bhgqk,bkhd->bqhgd", reshape(kept, grouped), value);
  return {.values = reshape(values, {b, query.dim(1), heads, value.dim(3)}), .weights = weights};
}

}  // namespace lockstep
