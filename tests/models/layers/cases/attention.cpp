#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/single_head_attention.h>

#include "layer_case.h"

namespace lockstep::test {
namespace {

MultiHeadAttention multi_head_attention() { return MultiHeadAttention({.num_heads = 2, .key_dim = 3}); }
GroupQueryAttention group_query_attention() {
  return GroupQueryAttention({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2});
}

/// Every option that the layer and its scores have in common.
MultiHeadAttention gated_attention() {
  return MultiHeadAttention({.num_heads = 2,
                             .key_dim = 3,
                             .value_dim = 4,
                             .sliding_window = 2,
                             .activity_regularizer = L1L2(0.25, 0.5),
                             .use_gate = true});
}
GroupQueryAttention gated_groups() {
  return GroupQueryAttention({.head_dim = 3,
                              .num_query_heads = 4,
                              .num_key_value_heads = 2,
                              .sliding_window = 3,
                              .activity_regularizer = L2(0.5),
                              .use_gate = true});
}

}  // namespace

std::vector<LayerCase> attention_layer_cases() {
  const Shape query{5, 6};
  const Shape value{4, 6};
  const std::string of_one_axis = "takes masks of inputs whose last axis is the only attention axis";
  std::vector<LayerCase> rows{
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
      {"MultiHeadAttention gated", gated_attention, {query, value}},
      {"MultiHeadAttention with scores", gated_attention, {query, value}, {.scores = true}},
      {"MultiHeadAttention causal with scores", gated_attention, {query, query}, {.causal = true, .scores = true}},
      {"MultiHeadAttention masked with scores", gated_attention, {query, value}, {.masked = true, .scores = true}},
      {"MultiHeadAttention with dropout and scores",
       [] { return MultiHeadAttention({.num_heads = 2, .key_dim = 3, .dropout = 0.25}); },
       {query, value},
       {.scores = true}},
      {"MultiHeadAttention with key, mask and scores",
       gated_attention,
       {query, value, value, {5, 4}},
       {.ids = {0, 0, 0, 2}, .scores = true}},
      {"MultiHeadAttention of images", multi_head_attention, {{3, 2, 6}, {2, 2, 6}}, {.mask_refusal = of_one_axis}},
      {"MultiHeadAttention along rows",
       [] {
         return MultiHeadAttention(
             {.num_heads = 2, .key_dim = 3, .output_shape = Shape{2, 3}, .attention_axes = {-2}, .use_gate = true});
       },
       {{3, 4, 6}, {3, 2, 6}, {3, 2, 5}, {3, 1, 4, 2}},
       {.ids = {0, 0, 0, 2}}},
      {"MultiHeadAttention along columns with scores",
       [] { return MultiHeadAttention({.num_heads = 2, .key_dim = 3, .attention_axes = {1}, .sliding_window = 2}); },
       {{4, 3, 6}, {2, 3, 6}},
       {.causal = true, .scores = true, .mask_rank = 2}},
      {"MultiHeadAttention along two axes with scores",
       [] {
         return MultiHeadAttention({.num_heads = 2, .key_dim = 3, .attention_axes = {3, 1}});
       },
       {{2, 2, 3, 4}, {2, 2, 2, 4}, {2, 2, 2, 4}, {2, 3, 2, 1, 2}},
       {.ids = {0, 0, 0, 2}, .scores = true, .mask_refusal = of_one_axis}},
      {"GroupQueryAttention", group_query_attention, {query, value}},
      {"GroupQueryAttention gated", gated_groups, {query, value}},
      {"GroupQueryAttention with scores", gated_groups, {query, value}, {.scores = true}},
      {"GroupQueryAttention causal with mask and scores",
       gated_groups,
       {query, value, value, {4, 5, 4}},
       {.ids = {0, 0, 0, 2}, .causal = true, .scores = true}},
      {"GroupQueryAttention masked with scores", gated_groups, {query, value}, {.masked = true, .scores = true}},
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
      {"Attention", [] { return Attention(); }, {query, value}},
      {"Attention masked with scores",
       [] { return Attention({.use_scale = true, .activity_regularizer = L1L2(0.25, 0.5)}); },
       {query, value, value},
       {.masked = true, .scores = true}},
      {"Attention causal of sums",
       [] { return Attention({.use_scale = true, .score_mode = ScoreMode::concat, .dropout = 0.25}); },
       {query, query},
       {.causal = true}},
      {"Attention of sums without scale", [] { return Attention({.score_mode = ScoreMode::concat}); }, {query, value}},
      {"AdditiveAttention", [] { return AdditiveAttention(); }, {query, value}},
      {"AdditiveAttention with key and scores",
       [] { return AdditiveAttention({.use_scale = false, .activity_regularizer = L2(0.5)}); },
       {query, {4, 5}, value},
       {.scores = true}},
      {"AdditiveAttention causal with dropout and scores",
       [] { return AdditiveAttention({.dropout = 0.5}); },
       {query, query},
       {.masked = true, .causal = true, .scores = true}},
  };
  for (LayerCase& row : rows)
    if (is_multi_head_attention(row.class_name()) && !row.traits.scores)  // others compose the attention of other ops
      row.traits.second_gradient_refusal = "gradient of dot_product_attention";
  return rows;
}

}  // namespace lockstep::test
