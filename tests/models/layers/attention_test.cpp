#include <array>
#include <cmath>

#include <support/gradient_check.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/attention_call.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/added_losses.h>
#include <lockstep/models/layers/attention_weights.h>
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

/// Attention of four queries (1, 4, 2, 2) to four keys (1, 4, 1, 2) with values (1, 4, 1, 3) that are neither later nor
/// the second, as loops.
std::vector<double> attended(const std::vector<std::vector<double>>& in) {
  std::vector<double> y;
  for (std::size_t query = 0; query < 4; ++query)
    for (std::size_t head = 0; head < 2; ++head) {
      const double* const q = &in[0][(query * 2 + head) * 2];
      double total = 0;
      std::array<double, 3> sums{};
      for (std::size_t key = 0; key <= query; ++key) {
        if (key == 1) continue;
        const double weight = std::exp((q[0] * in[1][key * 2] + q[1] * in[1][key * 2 + 1]) / std::sqrt(2.0));
        total += weight;
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * in[2][key * 3 + i];
      }
      for (const double sum : sums) y.push_back(sum / total);
    }
  return y;
}

TEST(AttentionWithWeights, HasSecondGradients) {
  const Tensor mask = Tensor::from(std::vector<std::uint8_t>{1, 0, 1, 1}, {1, 1, 1, 4});
  const AttentionOptions options{.is_causal = true, .mask = not_equal(mask, 0)};
  const auto op = [&](std::span<const Tensor> in) {
    return attention_with_weights(in[0], in[1], in[2], options).values;
  };
  const std::vector<Tensor> inputs{random_tensor({1, 4, 2, 2}, 1), random_tensor({1, 4, 1, 2}, 2),
                                   random_tensor({1, 4, 1, 3}, 3)};
  check_gradients(op, attended, inputs, {.length = 16});
  check_second_gradients(op, attended, inputs, {.length = 16});
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
    const Tensor y = dot_product_attention(heads(query, weight(layer, 0)), heads(key, weight(layer, 1)),
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

const MultiHeadAttentionOptions usual{.num_heads = 2, .key_dim = 3};

/// The layer's results, the scores last.
std::vector<Tensor> with_scores(const Layer& layer, const std::vector<Tensor>& inputs, LayerCall options = {}) {
  std::vector<Tensor> more;
  options.more_results = &more;
  std::vector<Tensor> results{call(layer, inputs, options)};
  results.insert(results.end(), more.begin(), more.end());
  return results;
}

// With a multiple of four keys, dropout draws the same numbers in both forms.
TEST(AttentionLayers, ComputeTheSameWithScores) {
  const Tensor query = random_tensor({2, 5, 6}, 1);
  const Tensor value = random_tensor({2, 8, 6}, 2);
  const Tensor mask = greater(random_tensor({2, 5, 8}, 3), -0.5);
  const std::vector<Tensor> masks{greater(random_tensor({2, 5}, 4), -0.5), greater(random_tensor({2, 8}, 5), -0.5)};
  const std::vector<Layer> layers{
      built(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .dropout = 0.5, .sliding_window = 4, .use_gate = true}),
            {{5, 6}, {8, 6}}, seed),
      built(GroupQueryAttention(
                {.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2, .dropout = 0.5, .use_gate = true}),
            {{5, 6}, {8, 6}}, seed)};
  for (const Layer& layer : layers)
    for (const Mode mode : {Mode::inference, Mode::train})
      for (const bool causal : {false, true})
        for (const std::vector<Tensor>& of_inputs : {std::vector<Tensor>(), masks}) {
          const LayerCall options{.mode = mode, .use_causal_mask = causal, .masks = of_inputs};
          const std::vector<std::uint64_t> start{0};
          layer.impl().random_draws()->set_counts(start);
          const Tensor expected = call(layer, {query, value, value, mask}, options);
          layer.impl().random_draws()->set_counts(start);
          const std::vector<Tensor> actual = with_scores(layer, {query, value, value, mask}, options);
          expect_close(actual[0], expected.to_vector<double>(), 32);
          ASSERT_EQ(actual[1].shape(),
                    layer.impl().variables()[0].shape()[1] == 2 ? Shape({2, 2, 5, 8}) : Shape({2, 4, 5, 8}));
          EXPECT_THAT(sum(actual[1], {-1}).to_vector<double>(),
                      testing::Each(testing::AnyOf(0, testing::DoubleNear(1, 1e-5))))
              << "before dropout";
        }
}

/// The results of a call for (1, 3, 6) queries and (1, 3, 6) values, then the gradient of their sum with respect to the
/// values. Query 1 may attend to no key; in a causal call, neither may query 0, whose only other key comes later.
std::vector<Tensor> with_query_without_keys(const Layer& layer, bool scores, const LayerCall& options = {}) {
  const Tensor query = random_tensor({1, 3, 6}, 1);
  const Tensor value = random_tensor({1, 3, 6}, 2);
  const Tensor mask = Tensor::from<float>({0, 0, 1, 0, 0, 0, 1, 1, 1}, {1, 1, 3, 3});
  GradientTape tape;
  tape.watch(value);
  const std::vector<Tensor> inputs{query, value, value, mask};
  std::vector<Tensor> results =
      scores ? with_scores(layer, inputs, options) : std::vector{call(layer, inputs, options)};
  results[0] = reshape(results[0], {3, 6});
  results.push_back(tape.gradient(sum(slice(results[0], 0, 1, 2)), std::span(&value, 1)).front());
  return results;
}

// As in Keras, whose layers compute these calls from other ops.
TEST(AttentionLayers, GiveNoWeightToKeysThatAreAllMaskedIfComposedInKeras) {
  const auto layer = [](double dropout, const Shape& features) {
    return built(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .dropout = dropout, .bias_initializer = zeros}),
                 {features, features}, seed);
  };
  const auto rows_of_zeros = [](const Tensor& y) {
    std::vector<bool> zeros;
    for (std::int64_t row = 0; row < 3; ++row) zeros.push_back(!any(y.slice_view(0, row, row + 1)).item<bool>());
    return zeros;
  };
  const std::vector<bool> none{false, false, false};
  const std::vector<bool> one{false, true, false};
  for (const bool causal : {false, true}) {
    const LayerCall options{.use_causal_mask = causal};
    const std::vector<bool> without_keys{causal, true, false};
    const std::vector<Tensor> fused = with_query_without_keys(layer(0, {3, 6}), false, options);
    EXPECT_EQ(rows_of_zeros(fused[0]), none) << "all keys have the same weight";
    EXPECT_TRUE(any(fused[1]).item<bool>());
    const std::vector<Tensor> with_dropout = with_query_without_keys(layer(0.5, {3, 6}), false, options);
    EXPECT_EQ(rows_of_zeros(with_dropout[0]), without_keys);
    EXPECT_FALSE(any(with_dropout[1]).item<bool>()) << "gradient";
    const std::vector<Tensor> with_weights = with_query_without_keys(layer(0, {3, 6}), true, options);
    EXPECT_EQ(rows_of_zeros(with_weights[0]), without_keys);
    for (const std::int64_t head : {0, 1})
      EXPECT_EQ(rows_of_zeros(reshape(slice(with_weights[1], 1, head, head + 1), {3, 3})), without_keys);
    EXPECT_FALSE(any(with_weights[2]).item<bool>()) << "gradient";
  }
  const std::vector<Tensor> trained = with_query_without_keys(layer(0.5, {3, 6}), false, training);
  EXPECT_TRUE(rows_of_zeros(trained[0])[1]);
  const MultiHeadAttention of_images = layer(0, {1, 3, 6});
  const Tensor x = random_tensor({1, 1, 3, 6}, 1);
  const Tensor mask = Tensor::from<float>({0, 0, 1, 0, 0, 0, 1, 1, 1}, {1, 1, 3, 1, 3});
  EXPECT_EQ(rows_of_zeros(reshape(call(of_images, {x, x, x, mask}), {3, 6})), one);
}

TEST(AttentionLayers, WithAGateMultiplyTheHeads) {
  const MultiHeadAttention layer =
      built(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .value_dim = 4, .use_gate = true}), {{5, 6}, {5, 6}});
  EXPECT_THAT(weights_of(layer),
              ElementsAre("layer/query/kernel (6, 2, 3)", "layer/query/bias (2, 3)", "layer/key/kernel (6, 2, 3)",
                          "layer/key/bias (2, 3)", "layer/gate/kernel (6, 2, 4)", "layer/gate/bias (2, 4)",
                          "layer/value/kernel (6, 2, 4)", "layer/value/bias (2, 4)",
                          "layer/attention_output/kernel (2, 4, 6)", "layer/attention_output/bias (6)"));
  const Tensor x = random_tensor({2, 5, 6}, 1);
  const Tensor attended =
      dot_product_attention(heads(x, weight(layer, 0)), heads(x, weight(layer, 2)), heads(x, weight(layer, 6)));
  const Tensor gated = multiply(attended, sigmoid(heads(x, weight(layer, 4))));
  const Tensor expected = dense(reshape(gated, {2, 5, 8}), reshape(weight(layer, 8), {8, 6}), {});
  expect_close(call(layer, {x, x}), expected.to_vector<double>(), 16);
}

TEST(AttentionLayers, WithASlidingWindowMaskFartherKeys) {
  const Tensor x = random_tensor({2, 5, 6}, 1);
  const MultiHeadAttention narrow =
      built(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .sliding_window = 2}), {{5, 6}, {5, 6}});
  const MultiHeadAttention plain = built(MultiHeadAttention(usual), {{5, 6}, {5, 6}});
  const Tensor band =
      Tensor::from<float>({1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1}, {1, 5, 5});
  for (const bool causal : {false, true})
    expect_same_bits(call(narrow, {x, x}, {.use_causal_mask = causal}),
                     call(plain, {x, x, x, broadcast_to(band, {2, 5, 5})}, {.use_causal_mask = causal}));
}

// Of (n, rows, columns, features): along columns, rows are like examples, with masks and a causal order of their own.
TEST(AttentionLayers, AttendAlongOneOfSeveralAxes) {
  const Tensor query = random_tensor({2, 3, 4, 6}, 1);
  const Tensor value = random_tensor({2, 3, 5, 6}, 2);
  const Tensor mask = greater(random_tensor({2, 3, 4, 5}, 3), -0.5);
  const std::vector<Tensor> masks{greater(random_tensor({2, 3, 4}, 4), -0.5),
                                  greater(random_tensor({2, 3, 5}, 5), -0.5)};
  const std::vector<Tensor> flat_masks{reshape(masks[0], {6, 4}), reshape(masks[1], {6, 5})};
  MultiHeadAttentionOptions options = usual;
  options.attention_axes = {2};
  const MultiHeadAttention along = built(MultiHeadAttention(options), {{3, 4, 6}, {3, 5, 6}});
  const MultiHeadAttention plain = built(MultiHeadAttention(usual), {{4, 6}, {5, 6}});
  const Tensor flat_query = reshape(query, {6, 4, 6});
  const Tensor flat_value = reshape(value, {6, 5, 6});
  const std::vector<Tensor> actual =
      with_scores(along, {query, value, value, mask}, {.use_causal_mask = true, .masks = masks});
  const std::vector<Tensor> expected =
      with_scores(plain, {flat_query, flat_value, flat_value, reshape(mask, {6, 4, 5})},
                  {.use_causal_mask = true, .masks = flat_masks});
  expect_same_bits(actual[0], reshape(expected[0], {2, 3, 4, 6}));
  expect_same_bits(actual[1], reshape(expected[1], {2, 3, 2, 4, 5}));

  options.attention_axes = {1};
  const MultiHeadAttention across = built(MultiHeadAttention(options), {{4, 3, 6}, {5, 3, 6}});
  expect_same_bits(call(across, {swapaxes(query, 1, 2), swapaxes(value, 1, 2)}),
                   dense_copy(swapaxes(call(along, {query, value}), 1, 2)));
}

TEST(AttentionLayers, AttendAlongSeveralAxesTogether) {
  const Tensor query = random_tensor({2, 3, 4, 6}, 1);
  const Tensor value = random_tensor({2, 2, 5, 6}, 2);
  const Tensor mask = greater(random_tensor({2, 3, 4, 2, 5}, 3), -0.5);
  const MultiHeadAttention plain = built(MultiHeadAttention(usual), {{12, 6}, {10, 6}});
  const MultiHeadAttention both = built(MultiHeadAttention(usual), {{3, 4, 6}, {2, 5, 6}});
  MultiHeadAttentionOptions options = usual;
  options.attention_axes = {-2, 1};
  const MultiHeadAttention ordered = built(MultiHeadAttention(options), {{3, 4, 6}, {2, 5, 6}});
  const Tensor flat_query = reshape(query, {2, 12, 6});
  const Tensor flat_value = reshape(value, {2, 10, 6});
  const std::vector<Tensor> expected =
      with_scores(plain, {flat_query, flat_value, flat_value, reshape(mask, {2, 12, 10})});
  const std::vector<Tensor> actual = with_scores(both, {query, value, value, mask});
  expect_same_bits(actual[0], reshape(expected[0], {2, 3, 4, 6}));
  const Tensor scores = reshape(expected[1], {2, 2, 3, 4, 2, 5});
  expect_same_bits(actual[1], scores);
  const std::vector<Tensor> turned = with_scores(ordered, {query, value, value, transpose(mask, {0, 2, 1, 4, 3})});
  expect_close(turned[0], actual[0].to_vector<double>(), 32);
  expect_close(turned[1], dense_copy(transpose(scores, {0, 1, 3, 2, 5, 4})).to_vector<double>(), 8);
}

/// The mean over the examples of the sum of squares.
double penalty_of(const Tensor& result) {
  return static_cast<double>(sum(square(result)).item<float>()) / static_cast<double>(result.dim(0));
}

/// The penalty of the result of a projection of x: a kernel and the bias after it.
double penalty_of(const Layer& layer, const Tensor& x, int kernel, bool gate = false) {
  const Shape shape = weight(layer, kernel).shape();
  const std::int64_t units = shape[1] * shape[2];
  const Tensor y =
      dense(x, reshape(weight(layer, kernel), {shape[0], units}), reshape(weight(layer, kernel + 1), {units}));
  return penalty_of(gate ? sigmoid(y) : y);
}

// As in Keras: the projections' results, and for GroupQueryAttention again those of the layer, which are the last
// projection's, and the scores.
TEST(AttentionLayers, PenalizeTheResultsOfProjections) {
  const Tensor query = random_tensor({2, 3, 4, 6}, 1);
  const Tensor value = random_tensor({2, 3, 5, 6}, 2);
  const auto make = [](const auto& layer, const std::vector<Shape>& inputs) { return built(layer, inputs); };
  const MultiHeadAttention many = make(MultiHeadAttention({.num_heads = 2,
                                                           .key_dim = 3,
                                                           .attention_axes = {2},
                                                           .bias_initializer = ones,
                                                           .activity_regularizer = L2(1),
                                                           .use_gate = true}),
                                       {{3, 4, 6}, {3, 5, 6}});
  const GroupQueryAttention groups =
      make(GroupQueryAttention(
               {.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2, .activity_regularizer = L2(1)}),
           {{4, 6}, {5, 6}});
  {
    const AddedLosses added;
    const Tensor result = with_scores(many, {query, value})[0];
    const double expected = penalty_of(many, query, 0) + penalty_of(many, value, 2) + penalty_of(many, query, 4, true) +
                            penalty_of(many, value, 6) + penalty_of(result);
    EXPECT_NEAR(added.sum().item<float>(), expected, 1e-5 * expected);
  }
  const Tensor few = reshape(query, {6, 4, 6});
  const Tensor keys = reshape(value, {6, 5, 6});
  const double projections = penalty_of(groups, few, 0) + penalty_of(groups, keys, 2) + penalty_of(groups, keys, 4);
  for (const bool scores : {false, true}) {
    const AddedLosses added;
    const std::vector<Tensor> results =
        scores ? with_scores(groups, {few, keys}) : std::vector{call(groups, {few, keys})};
    double expected = projections + penalty_of(results[0]);
    for (const Tensor& result : results) expected += penalty_of(result);
    EXPECT_NEAR(added.sum().item<float>(), expected, 1e-5 * expected);
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
  EXPECT_ERROR(InvalidArgument, "MultiHeadAttention needs a sliding_window of at least 1, got 0",
               MultiHeadAttention({.num_heads = 2, .key_dim = 3, .sliding_window = 0}));
  EXPECT_ERROR(InvalidArgument,
               "GroupQueryAttention needs num_query_heads to be a multiple of num_key_value_heads, got 4 and 3",
               GroupQueryAttention({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 3}));
}

TEST(AttentionLayers, RefuseInputsThatDoNotFit) {
  const MultiHeadAttention layer({.num_heads = 2, .key_dim = 3});
  EXPECT_ERROR(InvalidArgument, "a query, a value, and perhaps a key and a mask, got 1 inputs",
               shape_after(layer, {{5, 6}}));
  EXPECT_ERROR(InvalidArgument, "of one number of axes, got query (6), value (5, 6), key (5, 6)",
               shape_after(layer, {Shape{6}, {5, 6}}));
  EXPECT_ERROR(InvalidArgument, "takes sequences (time, features), got query (4, 5, 6), value (4, 5, 6)",
               shape_after(GroupQueryAttention({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2}),
                           {{4, 5, 6}, {4, 5, 6}}));
  EXPECT_ERROR(InvalidArgument, "needs a key for each value, got value (5, 6) and key (4, 6)",
               shape_after(layer, {{5, 6}, {5, 6}, {4, 6}}));
  EXPECT_ERROR(InvalidArgument, "a mask (5, 4) does not fit scores (2, 5, 5) (other axes, heads, attention axes",
               shape_after(layer, {{5, 6}, {5, 6}, {5, 6}, {5, 4}}));
  built(layer, {{5, 6}, {7, 8}});
  EXPECT_ERROR(InvalidArgument, "was built for 6, 8 and 8 features of query, key and value",
               shape_after(layer, {{5, 6}, {7, 9}}));
  EXPECT_ERROR(InvalidArgument, "was built for a query of 2 axes, without the batch axis, got (3, 5, 6)",
               shape_after(layer, {{3, 5, 6}, {3, 5, 8}}));
}

TEST(AttentionLayers, RefuseAxesThatDoNotFit) {
  EXPECT_ERROR(InvalidArgument, "MultiHeadAttention takes at most 8 axes of scores: batch, other axes, heads",
               MultiHeadAttention({.num_heads = 1, .key_dim = 1})(Input({2, 2, 2, 2, 3}), Input({2, 2, 2, 2, 3})));
  const auto shapes = [](const std::vector<int>& axes, const Shape& query, const Shape& value) {
    return shape_after(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .attention_axes = axes}), {query, value});
  };
  EXPECT_ERROR(InvalidArgument,
               "needs attention_axes between the batch axis and the features, got (3) for inputs of 4 axes",
               shapes({3}, {4, 5, 6}, {4, 5, 6}));
  EXPECT_ERROR(InvalidArgument, "got (0) for inputs of 3 axes", shapes({0}, {5, 6}, {5, 6}));
  EXPECT_ERROR(InvalidArgument, "got (-4) for inputs of 3 axes", shapes({-4}, {5, 6}, {5, 6}));
  EXPECT_ERROR(InvalidArgument, "needs different attention_axes, got (1, -3)", shapes({1, -3}, {4, 5, 6}, {4, 5, 6}));
  EXPECT_ERROR(InvalidArgument, "same sizes along the axes outside attention_axes, got (4, 5, 6) and (3, 5, 6)",
               shapes({2}, {4, 5, 6}, {3, 5, 6}));
  EXPECT_ERROR(
      InvalidArgument, "MultiHeadAttention with a sliding_window needs one attention axis, got 2",
      shape_after(MultiHeadAttention({.num_heads = 2, .key_dim = 3, .sliding_window = 2}), {{4, 5, 6}, {4, 5, 6}}));
  const MultiHeadAttention both = built(MultiHeadAttention(usual), {{4, 5, 6}, {4, 5, 6}});
  const Tensor x = random_tensor({2, 4, 5, 6}, 1);
  EXPECT_ERROR(InvalidArgument, "MultiHeadAttention with use_causal_mask needs one attention axis, got 2",
               call(both, {x, x}, {.use_causal_mask = true}));
  const Symbol images = Input({4, -1, 6});
  EXPECT_ERROR(InvalidArgument, "MultiHeadAttention with use_causal_mask needs one attention axis, got 2",
               both(images, images, {.use_causal_mask = true}));
  const std::vector<Tensor> masks{Tensor::full({2, 4}, 1, DType::boolean)};
  EXPECT_ERROR(InvalidArgument,
               "whose last axis is the only attention axis, got a mask (2, 4) for attention_axes (1, 2)",
               call(both, {x, x}, {.masks = masks}));
}

}  // namespace
}  // namespace lockstep::test
