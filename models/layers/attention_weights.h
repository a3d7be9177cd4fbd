#pragma once

#include <lockstep/kernels/attention/attention.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The results of attention_with_weights.
struct AttendedValues {
  Tensor values;   ///< (b, tq, heads, dv)
  Tensor weights;  ///< the softmax of the scores, before dropout: (b, heads, tq, tk)
};

/// scaled_dot_product_attention with the weights, composed of other ops. All have the query's dtype; the softmax is
/// computed in f32. The mask, if any, is bool with four axes. Throws the same errors.
AttendedValues attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionOptions& options);

/// (1, queries, keys), bool: whether the key's number is at most the query's.
Tensor causal_mask(std::int64_t queries, std::int64_t keys);

}  // namespace lockstep
