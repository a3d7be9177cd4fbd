#pragma once

#include <cstdint>

#include <lockstep/kernels/attention/attention.h>
#include <lockstep/runtime/tensor/tensor.h>

// dot_product_attention composed of other ops. It has higher-order gradients but needs memory for all scores.
// Preconditions: arguments that dot_product_attention accepts; the mask is undefined or bool.

namespace lockstep {

/// bool (1, queries, keys): true where the key's index is at most the query's index.
Tensor causal_mask(std::int64_t queries, std::int64_t keys);

/// The attention weights before dropout, (b, heads, tq, tk): the softmax of the scores, in the query's dtype but
/// computed in f32.
Tensor attention_weights(const Tensor& query, const Tensor& key, const AttentionOptions& options);

/// Applies dropout to the weights (b, heads, tq, tk) and multiplies them with the values (b, tk, kv_heads, dv). The
/// result is (b, tq, heads, dv).
Tensor weighted_values(const Tensor& weights, const Tensor& value, const AttentionOptions& options);

}  // namespace lockstep
