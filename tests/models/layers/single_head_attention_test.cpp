#include <cmath>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/models/graph/attention_call.h>
#include <lockstep/models/layers/random_draws.h>
#include <lockstep/models/layers/single_head_attention.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

using testing::ElementsAre;

/// The values (n, queries, width) that queries attend to, in double precision. `score(q, k)` is the score of a query
/// and a key, vectors; `seen(i, j)` says whether query i attends to key j.
template <class Score, class Seen>
std::vector<double> weighed_values(const Tensor& query, const Tensor& value, const Tensor& key, const Score& score,
                                   const Seen& seen) {
  const auto row = [](const Tensor& x, std::int64_t example, std::int64_t time) {
    return dense_copy(x.slice_view(0, example, example + 1).slice_view(1, time, time + 1)).to_vector<double>();
  };
  std::vector<double> results;
  for (std::int64_t example = 0; example < query.dim(0); ++example)
    for (std::int64_t i = 0; i < query.dim(1); ++i) {
      std::vector<double> result(static_cast<std::size_t>(value.dim(2)), 0);
      double total = 0;
      for (std::int64_t j = 0; j < key.dim(1); ++j) {
        const double weight = seen(i, j) ? std::exp(score(row(query, example, i), row(key, example, j))) : 0;
        total += weight;
        const std::vector<double> of_key = row(value, example, j);
        for (std::size_t k = 0; k < result.size(); ++k) result[k] += weight * of_key[k];
      }
      for (const double sum : result) results.push_back(sum / total);
    }
  return results;
}

class SingleHeadAttention : public testing::Test {
 protected:
  /// Expects the values of the layer, whose weights become 0.75, with and without a causal mask.
  template <class Score>
  void expect_attended(const Layer& layer, const Score& score) const {
    built(layer, {{4, 3}, {5, 2}, {5, 3}});
    for (const Variable& variable : layer.impl().variables()) variable.assign(Tensor::full(variable.shape(), 0.75));
    for (const bool causal : {false, true})
      expect_close(call(layer, {query_, value_, key_}, {.use_causal_mask = causal}),
                   weighed_values(query_, value_, key_, score,
                                  [&](std::int64_t i, std::int64_t j) { return !causal || j <= i; }),
                   32);
  }

  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
    return total;
  }
  static double sum_of_tanh(const std::vector<double>& a, const std::vector<double>& b, double scale) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += std::tanh(scale * (a[i] + b[i]));
    return total;
  }

  Tensor query_ = random_tensor({2, 4, 3}, 1);
  Tensor value_ = random_tensor({2, 5, 2}, 2);
  Tensor key_ = random_tensor({2, 5, 3}, 3);
};

TEST_F(SingleHeadAttention, WeighsValuesByTheSoftmaxOfScores) {
  using Vector = std::vector<double>;
  expect_attended(Attention(), [](const Vector& a, const Vector& b) { return dot(a, b); });
  expect_attended(Attention({.use_scale = true}), [](const Vector& a, const Vector& b) { return 0.75 * dot(a, b); });
  expect_attended(Attention({.score_mode = ScoreMode::concat}),
                  [](const Vector& a, const Vector& b) { return 0.75 * sum_of_tanh(a, b, 1); });
  expect_attended(Attention({.use_scale = true, .score_mode = ScoreMode::concat}),
                  [](const Vector& a, const Vector& b) { return 0.75 * sum_of_tanh(a, b, 0.75); });
  expect_attended(AdditiveAttention(), [](const Vector& a, const Vector& b) { return 0.75 * sum_of_tanh(a, b, 1); });
  expect_attended(AdditiveAttention({.use_scale = false}),
                  [](const Vector& a, const Vector& b) { return sum_of_tanh(a, b, 1); });
}

TEST_F(SingleHeadAttention, HasKerasWeights) {
  const std::vector<Shape> inputs{{4, 3}, {5, 3}};
  EXPECT_THAT(weights_of(built(Attention(), inputs)), ElementsAre());
  const Attention both = built(Attention({.use_scale = true, .score_mode = ScoreMode::concat}), inputs);
  EXPECT_THAT(weights_of(both), ElementsAre("layer/scale ()", "layer/concat_score_weight ()"));
  EXPECT_EQ(weight(both, 0).item<float>(), 1);
  EXPECT_EQ(weight(both, 1).item<float>(), 1);
  EXPECT_THAT(weights_of(built(AdditiveAttention(), inputs)), ElementsAre("layer/scale (3)"));
}

// As in Keras: the value's mask hides keys, results of masked queries are 0, and the key's mask has no effect.
TEST_F(SingleHeadAttention, UsesTheMasksOfQueryAndValue) {
  const Attention layer = built(Attention(), {{4, 3}, {5, 2}, {5, 3}});
  const Tensor of_query = cast(Tensor::from<float>({1, 1, 1, 1, 0, 1, 0, 1}, {2, 4}), DType::boolean);
  const Tensor of_value = cast(Tensor::from<float>({1, 1, 0, 0, 0, 1, 1, 0, 0, 0}, {2, 5}), DType::boolean);
  const std::vector<Tensor> masks{of_query, of_value, cast(Tensor::zeros({2, 5}), DType::boolean)};
  std::vector<Tensor> scores;
  const Tensor actual = call(layer, {query_, value_, key_}, {.masks = masks, .more_results = &scores});
  const Tensor without =
      call(layer, {query_, dense_copy(value_.slice_view(1, 0, 2)), dense_copy(key_.slice_view(1, 0, 2))});
  expect_close(actual, multiply(without, cast(expand_dims(of_query, 2), DType::f32)).to_vector<double>(), 16);
  ASSERT_EQ(scores.size(), 1U);
  EXPECT_THAT(dense_copy(scores[0].slice_view(2, 2, 5)).to_vector<float>(), testing::Each(0));
  EXPECT_EQ(layer.impl().compute_mask(std::vector{query_, value_, key_}, masks).id(), of_query.id());
}

TEST_F(SingleHeadAttention, DropsWeightsInTrainingOnly) {
  const AdditiveAttention layer = built(AdditiveAttention({.dropout = 0.5}), {{4, 3}, {5, 2}, {5, 3}}, seed);
  std::vector<Tensor> whole;
  std::vector<Tensor> dropped;
  call(layer, {query_, value_, key_}, {.more_results = &whole});
  const Tensor y = call(layer, {query_, value_, key_}, {.mode = Mode::train, .more_results = &dropped});
  const std::vector<float> before = whole[0].to_vector<float>();
  const std::vector<float> after = dropped[0].to_vector<float>();
  EXPECT_THAT(after, testing::Contains(0));
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(after[i] == 0 || after[i] == 2 * before[i]) << i;
  expect_close(y, matmul(dropped[0], value_).to_vector<double>(), 8);
}

TEST_F(SingleHeadAttention, RefusesOtherOptionsAndInputs) {
  EXPECT_ERROR(InvalidArgument, "Attention needs a dropout of at least 0 and below 1, got -1",
               Attention({.dropout = -1}));
  EXPECT_ERROR(InvalidArgument, "Attention is called with a query, a value, and perhaps a key, got 1 inputs",
               shape_after(Attention(), {{4, 3}}));
  const Symbol x = Input({4, 3});
  EXPECT_ERROR(InvalidArgument, "perhaps a key, got 4 inputs", Attention()(x, x, {.attention_mask = Input({4, 4})}));
  EXPECT_ERROR(InvalidArgument, "AdditiveAttention takes sequences (time, features), got query (3), value (4, 3)",
               shape_after(AdditiveAttention(), {Shape{3}, {4, 3}}));
  EXPECT_ERROR(InvalidArgument, "needs a key for each value, got value (5, 3) and key (4, 3)",
               shape_after(Attention(), {{4, 3}, {5, 3}, {4, 3}}));
  EXPECT_ERROR(InvalidArgument, "query and key of the same number of features, got (4, 3) and (5, 2)",
               shape_after(Attention(), {{4, 3}, {5, 2}}));
  EXPECT_ERROR(InvalidArgument, "AdditiveAttention 'layer' was built for queries (3) wide, got (4, 2)",
               shape_after(built(AdditiveAttention(), {{4, 3}, {4, 3}}), {{4, 2}, {4, 2}}));
}

}  // namespace
}  // namespace lockstep::test
