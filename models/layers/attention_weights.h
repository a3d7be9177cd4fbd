#pragma once

#include <lockstep/kernels/attention/attention.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The results of attention_with_weights.
struct AttendedValues {
  Tensor values;   ///< (b, tq, heads, dv)
  Tensor weights;  ///< (b, heads, tq, tk): the softmax of the scores, before dropout
};

/// Computes scaled_dot_product_attention with other ops, and also returns the weights. Both results have the query's
/// dtype; the softmax is computed in f32. Precondition: arguments that scaled_dot_product_attention accepts; the mask
/// is undefined or bool with four axes.
AttendedValues attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionOptions& options);

/// bool (1, queries, keys): true where the key's index is at most the query's index.
Tensor causal_mask(std::int64_t queries, std::int64_t keys);

}  // namespace lockstep
