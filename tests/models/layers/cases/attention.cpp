#include <lockstep/models/layers/attention.h>

#include "layer_case.h"

namespace lockstep::test {
namespace {

MultiHeadAttention multi_head_attention() { return MultiHeadAttention({.num_heads = 2, .key_dim = 3}); }
GroupQueryAttention group_query_attention() {
  return GroupQueryAttention({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2});
}

}  // namespace

std::vector<LayerCase> attention_layer_cases() {
  const Shape query{5, 6};
  const Shape value{4, 6};
  return {
      {"MultiHeadAttention", multi_head_attention, {query, value}},
      {"MultiHeadAttention causal", multi_head_attention, {query, query}, {.causal = true}},
      {"MultiHeadAttention with key and mask",
       multi_head_attention,
       {query, value, value, {5, 4}},
       {.ids = {0, 0, 0, 2}}},
      {"MultiHeadAttention masked", multi_head_attention, {query, value}, {.masked = true}},
      {"MultiHeadAttention with unusual options",
       [] {
         return MultiHeadAttention({.num_heads = 2,
                                    .key_dim = 3,
                                    .value_dim = 4,
                                    .dropout = 0.25,
                                    .use_bias = false,
                                    .output_shape = Shape{2, 3},
                                    .kernel_regularizer = L1(0.5),
                                    .bias_constraint = NonNeg()});
       },
       {query, value}},
      {"GroupQueryAttention", group_query_attention, {query, value}},
      {"GroupQueryAttention causal", group_query_attention, {query, query}, {.causal = true}},
      {"GroupQueryAttention with key and mask",
       group_query_attention,
       {query, value, value, {4, 5, 4}},
       {.ids = {0, 0, 0, 2}}},
      {"GroupQueryAttention with unusual options",
       [] {
         return GroupQueryAttention({.head_dim = 2,
                                     .num_query_heads = 6,
                                     .num_key_value_heads = 3,
                                     .dropout = 0.25,
                                     .use_bias = false,
                                     .bias_initializer = ones,
                                     .bias_regularizer = L2(0.5),
                                     .kernel_constraint = MaxNorm()});
       },
       {query, value}},
  };
}

}  // namespace lockstep::test
