#include "lockstep/models/layers/attention_weights.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/attention/composed_attention.h>
#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep {

Tensor sees_any_key(const Tensor& mask, bool is_causal, std::int64_t queries) {
  const Tensor any_key = any(mask, {-1}, true);
  if (!is_causal) return any_key;
  const Tensor own_place = reshape(arange(static_cast<double>(queries), DType::i64), {1, 1, queries, 1});
  return logical_and(any_key, less_equal(argmax(mask, -1, true), own_place));
}

AttendedValues attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionOptions& options) {
  Tensor weights = attention_weights(query, key, options);
  if (options.mask.defined()) weights = where(sees_any_key(options.mask, options.is_causal, query.dim(1)), weights, 0);
  return {.values = weighted_values(weights, value, options), .weights = weights};
}

}  // namespace lockstep
