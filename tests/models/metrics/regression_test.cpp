#include <cmath>

#include <gtest/gtest.h>
#include <models/metrics/values.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/models/metrics/regression.h>

namespace lockstep {
namespace {

using test::floats;
using test::value;

// Values from Keras' documentation.
TEST(RegressionMetrics, AreKerasExamples) {
  const Tensor y = floats({0, 1, 0, 0}, {2, 2});
  const Tensor p = floats({1, 1, 0, 0}, {2, 2});
  EXPECT_EQ(value(RootMeanSquaredError(), y, p), 0.5);
  EXPECT_DOUBLE_EQ(value(RootMeanSquaredError(), y, p, floats({1, 0}, {2})), std::sqrt(0.5));
  const Tensor u = floats({0, 1, 1, 1}, {2, 2});
  const Tensor v = floats({1, 0, 1, 1}, {2, 2});
  EXPECT_NEAR(value(CosineSimilarityMetric(1), u, v), 0.5, 1e-6);
  EXPECT_NEAR(value(CosineSimilarityMetric(), u, v, floats({0.3F, 0.7F}, {2})), 0.7, 1e-6);
  EXPECT_NEAR(value(R2Score(), floats({1, 4, 3}, {3, 1}), floats({2, 4, 4}, {3, 1})), 4.0 / 7, 1e-12);
}

// Two outputs, whose targets have the squared deviations 16 and 4 from the means 3 and 1, and the errors 5 and 1.
const Tensor truths = floats({1, 0, 5, 2, 1, 0, 5, 2}, {4, 2});
const Tensor predictions = floats({3, 0, 5, 2, 1, 1, 4, 2}, {4, 2});

TEST(R2Score, JoinsTheScoresOfOutputs) {
  const double first = 1 - 5.0 / 16;
  const double second = 1 - 1.0 / 4;
  EXPECT_NEAR(value(R2Score(), truths, predictions), (first + second) / 2, 1e-12);
  EXPECT_NEAR(value(R2Score({.class_aggregation = R2Aggregation::variance_weighted_average}), truths, predictions),
              (16 * first + 4 * second) / 20, 1e-12);
}

TEST(R2Score, IsAdjustedForTheNumberOfRegressors) {
  const double plain = value(R2Score(), truths, predictions);
  EXPECT_NEAR(value(R2Score({.num_regressors = 3}), truths, predictions), 1 - (1 - plain) * 7 / 4, 1e-12);
  EXPECT_EQ(value(R2Score({.num_regressors = 7}), truths, predictions), plain);
  EXPECT_EQ(value(R2Score({.num_regressors = 8}), truths, predictions), plain);
}

TEST(R2Score, WeighsExamples) {
  // The mean is (0 + 2 * 2 + 4) / 4, the variation 4 + 2 * 0 + 4, and the error 1.
  const Tensor y = floats({0, 2, 100, 4}, {4, 1});
  const Tensor p = floats({1, 2, 0, 4}, {4, 1});
  EXPECT_NEAR(value(R2Score(), y, p, floats({1, 2, 0, 1}, {4})), 1 - 1.0 / 8, 1e-12);
}

TEST(R2Score, OfEqualTargetsIsZeroOrNaN) {
  const Tensor two = Tensor::full({3, 1}, 2);
  EXPECT_EQ(value(R2Score(), two, floats({1, 2, 3}, {3, 1})), 0);
  EXPECT_TRUE(std::isnan(value(R2Score(), two, two)));
}

// As in Keras, whose mean of no targets is 0 / 0.
TEST(R2Score, OfNoRowsIsNaN) {
  for (const R2Aggregation aggregation : {R2Aggregation::uniform_average, R2Aggregation::variance_weighted_average}) {
    const R2Score metric({.class_aggregation = aggregation, .num_regressors = 1});
    EXPECT_TRUE(std::isnan(value(metric, Tensor::zeros({0, 2}), Tensor::zeros({0, 2}))));
  }
}

TEST(R2Score, WithoutAggregationIsThatOfOneOutput) {
  const R2Score metric({.class_aggregation = R2Aggregation::none});
  const Tensor y = floats({1, 4, 3}, {3, 1});
  const Tensor p = floats({2, 4, 4}, {3, 1});
  EXPECT_EQ(value(metric, y, p), value(R2Score(), y, p));
  EXPECT_ERROR(InvalidArgument,
               "R2Score of 2 outputs has one value only with a class_aggregation: uniform_average or "
               "variance_weighted_average",
               metric.update(truths, predictions));
}

TEST(RegressionMetrics, OfNothingAreZero) {
  EXPECT_EQ(value(RootMeanSquaredError(), Tensor::zeros({0, 2}), Tensor::zeros({0, 2})), 0);
  EXPECT_EQ(value(CosineSimilarityMetric(), Tensor::zeros({0, 2}), Tensor::zeros({0, 2})), 0);
  EXPECT_EQ(R2Score().result({}), 0);
}

TEST(RegressionMetrics, KnowTheirDirection) {
  EXPECT_EQ(RootMeanSquaredError().direction(), Direction::down);
  EXPECT_EQ(CosineSimilarityMetric().direction(), Direction::up);
  EXPECT_EQ(R2Score().direction(), Direction::up);
}

TEST(RegressionMetrics, RefuseWhatDoesNotFit) {
  EXPECT_ERROR(InvalidArgument, "R2Score needs num_regressors of at least 0, got -1", R2Score({.num_regressors = -1}));
  EXPECT_ERROR(InvalidArgument, "got f32 (3, 1, 2) on CPU:0 and f32 (3, 2)",
               R2Score().update(Tensor::zeros({3, 1, 2}), Tensor::zeros({3, 2})));
  EXPECT_ERROR(InvalidArgument, "R2Score takes targets and predictions (n, outputs), got f32 (3)",
               R2Score().update(Tensor::zeros({3}), Tensor::zeros({3})));
  EXPECT_THROW(R2Score().update({}, Tensor::zeros({3, 1})), InvalidArgument);
  EXPECT_THROW(RootMeanSquaredError().update(Tensor::zeros({3, 2}), Tensor::zeros({3, 1})), InvalidArgument);
  EXPECT_THROW(CosineSimilarityMetric(0).update(Tensor::zeros({3, 2}), Tensor::zeros({3, 2})), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
