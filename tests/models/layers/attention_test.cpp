#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/models/graph/attention_call.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/random_draws.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

using testing::ElementsAre;

TEST(AttentionLayers, HaveKerasWeights) {
  const MultiHeadAttention layer =
      built(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .value_dim = 4}), {{5, 6}, {7, 8}, {7, 9}});
  EXPECT_THAT(weights_of(layer),
              ElementsAre("layer/query/kernel (6, 2, 3)", "layer/query/bias (2, 3)", "layer/key/kernel (9, 2, 3)",
                          "layer/key/bias (2, 3)", "layer/value/kernel (8, 2, 4)", "layer/value/bias (2, 4)",
                          "layer/attention_output/kernel (2, 4, 6)", "layer/attention_output/bias (6)"));
  EXPECT_EQ(shape_after(layer, {{11, 6}, {3, 8}, {3, 9}}), Shape({11, 6})) << "any numbers of queries and keys";
  const MultiHeadAttention shaped =
      built(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .use_bias = false, .output_shape = Shape{3, 2}}),
            {{5, 6}, {7, 6}});
  EXPECT_THAT(weights_of(shaped),
              ElementsAre("layer/query/kernel (6, 2, 3)", "layer/key/kernel (6, 2, 3)", "layer/value/kernel (6, 2, 3)",
                          "layer/attention_output/kernel (2, 3, 3, 2)"));
  EXPECT_EQ(shape_after(shaped, {{5, 6}, {7, 6}}), Shape({5, 3, 2}));
  EXPECT_EQ(call(shaped, {random_tensor({2, 5, 6}, 1), random_tensor({2, 7, 6}, 2)}).shape(), Shape({2, 5, 3, 2}));
  EXPECT_THAT(weights_of(built(GroupQueryAttention({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2}),
                               {{5, 6}, {7, 6}})),
              ElementsAre("layer/query/kernel (6, 4, 3)", "layer/query/bias (4, 3)", "layer/key/kernel (6, 2, 3)",
                          "layer/key/bias (2, 3)", "layer/value/kernel (6, 2, 3)", "layer/value/bias (2, 3)",
                          "layer/attention_output/kernel (4, 3, 6)", "layer/attention_output/bias (6)"));
}

/// x times a kernel (features, ...) as heads.
Tensor heads(const Tensor& x, const Tensor& kernel) {
  const Shape& shape = kernel.shape();
  return reshape(dense(x, reshape(kernel, {shape[0], shape[1] * shape[2]}), {}),
                 {x.dim(0), x.dim(1), shape[1], shape[2]});
}

TEST(AttentionLayers, ComputeTheOp) {
  const Tensor query = random_tensor({2, 5, 6}, 1);
  const Tensor value = random_tensor({2, 7, 8}, 2);
  const Tensor key = random_tensor({2, 7, 9}, 3);
  const Tensor mask = relu(random_tensor({2, 5, 7}, 4));
  const auto expected = [&](const Layer& layer, const AttentionOptions& options) {
    const Tensor y = scaled_dot_product_attention(heads(query, weight(layer, 0)), heads(key, weight(layer, 1)),
                                                  heads(value, weight(layer, 2)), options);
    return dense(reshape(y, {2, 5, 12}), reshape(weight(layer, 3), {12, 6}), {});
  };
  const MultiHeadAttention many = built(
      MultiHeadAttention({.num_heads = 4, .key_dim = 2, .value_dim = 3, .use_bias = false}), {{5, 6}, {7, 8}, {7, 9}});
  const GroupQueryAttention groups =
      built(GroupQueryAttention({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2, .use_bias = false}),
            {{5, 6}, {7, 8}, {7, 9}});
  for (const Layer& layer : std::vector<Layer>{many, groups}) {
    expect_same_bits(call(layer, {query, value, key}), expected(layer, {}));
    expect_same_bits(call(layer, {query, value, key}, {.use_causal_mask = true}), expected(layer, {.is_causal = true}));
    const Tensor broadcast = reshape(mask, {2, 1, 5, 7});
    expect_same_bits(call(layer, {query, value, key, mask}), expected(layer, {.mask = broadcast}));
    expect_same_bits(call(layer, {query, value, key, broadcast}), expected(layer, {.mask = broadcast}));
  }
}

TEST(AttentionLayers, TakeTheValueAsKey) {
  const Tensor query = random_tensor({2, 5, 6}, 1);
  const Tensor value = random_tensor({2, 7, 8}, 2);
  const MultiHeadAttention layer = built(MultiHeadAttention({.num_heads = 2, .key_dim = 3}), {{5, 6}, {7, 8}});
  expect_same_bits(call(layer, {query, value}), call(layer, {query, value, value}));
}

TEST(AttentionLayers, DropWeightsInTrainingOnly) {
  const Tensor x = random_tensor({2, 5, 6}, 1);
  const MultiHeadAttention layer =
      built(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .dropout = 0.5}), {{5, 6}, {5, 6}}, seed);
  const std::vector<float> whole = call(layer, {x, x}).to_vector<float>();
  const std::vector<float> first = call(layer, {x, x}, training).to_vector<float>();
  EXPECT_EQ(call(layer, {x, x}).to_vector<float>(), whole);
  EXPECT_NE(first, whole);
  EXPECT_NE(call(layer, {x, x}, training).to_vector<float>(), first);
  layer.impl().random_draws()->set_counts(std::vector<std::uint64_t>{0});
  EXPECT_EQ(call(layer, {x, x}, training).to_vector<float>(), first);
}

TEST(AttentionLayers, CausalCallsSeeNothingLater) {
  const Symbol x = Input({5, 4});
  const MultiHeadAttention layer({.num_heads = 2, .key_dim = 3});
  const Network causal(x, layer(x, x, {.use_causal_mask = true}), 1);
  const Network whole(x, layer(x, x), 1);
  const Tensor one = random_tensor({2, 5, 4}, 1);
  const Tensor other = Tensor::from(one.to_vector<float>(), one.shape());
  for (const std::int64_t row : {0, 1})
    for (std::int64_t k = 0; k < 4; ++k) other.span<float>()[static_cast<std::size_t>((row * 5 + 4) * 4 + k)] += 1;
  const auto before_last = [](const Tensor& y) { return dense_copy(y.slice_view(1, 0, 4)).to_vector<float>(); };
  EXPECT_EQ(before_last(causal(one, Mode::inference)), before_last(causal(other, Mode::inference)));
  EXPECT_NE(before_last(whole(one, Mode::inference)), before_last(whole(other, Mode::inference)));
}

TEST(AttentionLayers, RefuseOptionsOutsideTheirRange) {
  EXPECT_ERROR(InvalidArgument, "MultiHeadAttention needs at least 1 head, and head sizes of at least 1, got 0",
               MultiHeadAttention({.key_dim = 3}));
  EXPECT_ERROR(InvalidArgument, "needs at least 1 head, and head sizes of at least 1, got -1",
               MultiHeadAttention({.num_heads = 2, .key_dim = 3, .value_dim = -1}));
  EXPECT_ERROR(InvalidArgument, "a dropout of at least 0 and below 1, got 1",
               MultiHeadAttention({.num_heads = 2, .key_dim = 3, .dropout = 1}));
  EXPECT_ERROR(InvalidArgument, "an output_shape of sizes of at least 1, got (0)",
               MultiHeadAttention({.num_heads = 2, .key_dim = 3, .output_shape = Shape{0}}));
  EXPECT_ERROR(InvalidArgument,
               "GroupQueryAttention needs num_query_heads to be a multiple of num_key_value_heads, got 4 and 3",
               GroupQueryAttention({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 3}));
}

TEST(AttentionLayers, RefuseInputsThatDoNotFit) {
  const MultiHeadAttention layer({.num_heads = 2, .key_dim = 3});
  EXPECT_ERROR(InvalidArgument, "a query, a value, and perhaps a key and a mask, got 1 inputs",
               shape_after(layer, {{5, 6}}));
  EXPECT_ERROR(InvalidArgument, "takes sequences (time, features), got query (6), value (5, 6), key (5, 6)",
               shape_after(layer, {Shape{6}, {5, 6}}));
  EXPECT_ERROR(InvalidArgument, "needs a key for each value, got value (5, 6) and key (4, 6)",
               shape_after(layer, {{5, 6}, {5, 6}, {4, 6}}));
  EXPECT_ERROR(InvalidArgument, "a mask (5, 4) does not fit scores (heads, queries, keys) (2, 5, 5)",
               shape_after(layer, {{5, 6}, {5, 6}, {5, 6}, {5, 4}}));
  built(layer, {{5, 6}, {7, 8}});
  EXPECT_ERROR(InvalidArgument, "was built for 6, 8 and 8 features of query, key and value",
               shape_after(layer, {{5, 6}, {7, 9}}));
}

}  // namespace
}  // namespace lockstep::test
