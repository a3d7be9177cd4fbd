#include <gtest/gtest.h>
#include <models/metrics/values.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/models/metrics/f_score.h>

namespace lockstep {
namespace {

using enum FScoreAverage;
using test::floats;
using test::keras_tolerance;
using test::value;

// The example of Keras' documentation, with a threshold of 0.5: by class 1, 2, 1 hits, 0, 1, 1 false alarms and 2, 0, 0
// misses; by row 2, 0, 2 hits, 0, 2, 0 false alarms and 1, 1, 0 misses.
const Tensor keras_truths = Tensor::from(std::vector<std::int32_t>{1, 1, 1, 1, 0, 0, 1, 1, 0}, {3, 3});
const Tensor keras_predictions = floats({0.2F, 0.6F, 0.7F, 0.2F, 0.6F, 0.6F, 0.6F, 0.8F, 0}, {3, 3});

TEST(FScore, AreKerasExamples) {
  const auto of_class = [](const Metric& metric, std::int64_t k) {
    return value(metric, keras_truths.slice_view(1, k, k + 1), keras_predictions.slice_view(1, k, k + 1));
  };
  for (const auto& [k, f1, f2] : {std::tuple{0, 0.5, 0.3846154}, {1, 0.8, 0.90909094}, {2, 0.6666667, 0.8333334}}) {
    EXPECT_NEAR(of_class(F1Score({.threshold = 0.5}), k), f1, keras_tolerance);
    EXPECT_NEAR(of_class(FBetaScore({.beta = 2, .threshold = 0.5}), k), f2, keras_tolerance);
  }
}

TEST(FScore, AverageTheScoresOfSeveralClasses) {
  const auto f1 = [](FScoreAverage average) {
    return value(F1Score({.average = average, .threshold = 0.5}), keras_truths, keras_predictions);
  };
  EXPECT_NEAR(f1(macro), (0.5 + 0.8 + 2.0 / 3) / 3, keras_tolerance);
  EXPECT_NEAR(f1(weighted), (3 * 0.5 + 2 * 0.8 + 1 * 2.0 / 3) / 6, keras_tolerance);
  EXPECT_NEAR(f1(micro), 2.0 * 4 / (2 * 4 + 2 + 2), keras_tolerance);
}

TEST(FScore, WeighExamples) {
  const FBetaScore metric({.average = micro, .beta = 0.5, .threshold = 0.5});
  const double hits = 2 * 0.5 + 2 * 4;
  const double alarms = 2 * 3;
  const double misses = 1 * 0.5 + 1 * 3;
  EXPECT_NEAR(value(metric, keras_truths, keras_predictions, floats({0.5F, 3, 4}, {3})),
              1.25 * hits / (1.25 * hits + 0.25 * misses + alarms), keras_tolerance);
}

TEST(FScore, WithoutAThresholdTakeTheLargestPredictionsButZeros) {
  const Tensor y = floats({1, 0, 1, 1, 0, 1, 0, 1, 0}, {3, 3});
  const Tensor p = floats({0.2F, 0.7F, 0.7F, 0, 0, 0, -1, -0.5F, -3}, {3, 3});
  // positive: both 0.7, no 0, and -0.5
  EXPECT_NEAR(value(F1Score({.average = micro}), y, p), 2.0 * 2 / (2 * 2 + 1 + 3), keras_tolerance);
}

TEST(FScore, OfAPredictionAtTheThresholdIsNegative) {
  const Tensor one = floats({1}, {1, 1});
  EXPECT_EQ(value(F1Score({.threshold = 0.4}), one, floats({0.4F}, {1, 1})), 0);
  EXPECT_NEAR(value(F1Score({.threshold = 0.4}), one, floats({0.5F}, {1, 1})), 1, keras_tolerance);
}

TEST(FScore, OfNothingAreZero) {
  EXPECT_EQ(value(F1Score(), Tensor::zeros({0, 1}), Tensor::zeros({0, 1})), 0);
  for (const FScoreAverage average : {micro, macro, weighted})
    EXPECT_EQ(value(F1Score({.average = average}), Tensor::zeros({2, 3}), Tensor::zeros({2, 3})), 0);
}

TEST(FScore, RefuseWhatDoesNotFit) {
  EXPECT_ERROR(InvalidArgument, "an F-score needs a beta above 0, got 0", FBetaScore({.beta = 0}));
  EXPECT_ERROR(InvalidArgument, "an F-score needs a threshold in (0, 1], got 0", F1Score({.threshold = 0}));
  EXPECT_ERROR(InvalidArgument, "an F-score of 3 classes has one value only with an average: micro, macro or weighted",
               F1Score().update(keras_truths, keras_predictions));
  EXPECT_ERROR(InvalidArgument, "an F-score takes targets and predictions (n, classes), got f32 (3)",
               F1Score().update(Tensor::zeros({3}), Tensor::zeros({3})));
  EXPECT_ERROR(InvalidArgument, "an F-score takes targets and predictions (n, classes)",
               F1Score({.average = micro}).update(Tensor::zeros({3}), Tensor::zeros({3, 2})));
  EXPECT_ERROR(InvalidArgument, "got f32 (3, 1, 2) on CPU:0 and f32 (3, 2)",
               F1Score({.average = micro}).update(Tensor::zeros({3, 1, 2}), Tensor::zeros({3, 2})));
}

}  // namespace
}  // namespace lockstep
