#pragma once

#include <cstdint>

#include <lockstep/kernels/attention/attention.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The results of attention_with_weights.
struct AttendedValues {
  Tensor values;   ///< (b, tq, heads, dv)
  Tensor weights;  ///< (b, heads, tq, tk): the softmax of the scores, before dropout
};

/// Computes dot_product_attention with other ops, and also returns the weights. Both results have the query's
/// dtype; the softmax is computed in f32. Unlike in dot_product_attention, the weights of a query that may not
/// attend to any key are 0. Precondition: arguments that dot_product_attention accepts; the mask is undefined or
/// bool with four axes.
AttendedValues attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionOptions& options);

/// Whether each query may attend to at least one key. `mask` is bool (b, heads, queries, keys); the result is bool with
/// the mask's shape, but with size 1 along the keys. With `is_causal` (see AttentionOptions), the result's axis of
/// queries has the size `queries`, even if the mask has size 1 there.
Tensor sees_any_key(const Tensor& mask, bool is_causal, std::int64_t queries);

}  // namespace lockstep
