#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/metrics/values.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/models/metrics/confusion.h>
#include <lockstep/models/metrics/metric_tracker.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {
namespace {

using test::floats;
using test::value;
using testing::ElementsAre;

// TF case 99: Precision and Recall of ([0,1,1,1], [1,0,1,1]) -> .6667
TEST(PrecisionAndRecall, AreTensorFlows) {
  const Tensor y = floats({0, 1, 1, 1});
  const Tensor predictions = floats({1, 0, 1, 1});
  EXPECT_DOUBLE_EQ(value(Precision(), y, predictions), 2.0 / 3);
  EXPECT_DOUBLE_EQ(value(Recall(), y, predictions), 2.0 / 3);
  EXPECT_EQ(value(Precision(), y, predictions, floats({0, 0, 1, 0})), 1);
  EXPECT_EQ(value(Recall(), y, predictions, floats({0, 0, 1, 0})), 1);
}

TEST(PrecisionAndRecall, CountEveryElementWithItsExamplesWeight) {
  const Tensor y = Tensor::from(std::vector<std::uint8_t>{1, 0, 1, 1}, {2, 2});
  const Tensor predictions = Tensor::from(std::vector<float>{0.6F, 0.6F, 0.5F, 0.9F}, {2, 2});
  const Tensor weight = floats({1, 3});
  EXPECT_THAT(Precision().update(y, predictions, weight), ElementsAre(4, 5));
  EXPECT_THAT(Recall().update(y, predictions, weight), ElementsAre(4, 7));
  EXPECT_THAT(Recall(0.4).update(y, predictions, weight), ElementsAre(7, 7));
}

TEST(Counts, AreTheWeightsOfTheirElements) {
  const Tensor y = Tensor::from(std::vector<std::uint8_t>{1, 0, 1, 0, 0, 1}, {3, 2});
  const Tensor predictions = Tensor::from(std::vector<float>{0.6F, 0.6F, 0.5F, 0.2F, 0.9F, 0.8F}, {3, 2});
  const Tensor weight = floats({1, 2, 4});
  EXPECT_EQ(value(TruePositives(), y, predictions, weight), 1 + 4);
  EXPECT_EQ(value(FalsePositives(), y, predictions, weight), 1 + 4);
  EXPECT_EQ(value(FalseNegatives(), y, predictions, weight), 2);
  EXPECT_EQ(value(TrueNegatives(), y, predictions, weight), 2);
  EXPECT_EQ(value(TruePositives(0.25), y, predictions), 3);
  EXPECT_EQ(value(FalsePositives(0.7), y, predictions), 1);
  EXPECT_EQ(value(FalseNegatives(0.7), y, predictions), 2);
  EXPECT_EQ(value(TrueNegatives(0.1), y, predictions), 0);
  EXPECT_EQ(TruePositives().direction(), Direction::unknown);
}

// float32(0.1) is above 0.1, and float32(0.7) is below 0.7; Keras compares both as float32.
TEST(Confusion, ComparesThresholdsAsF32) {
  const Tensor y = floats({1, 0});
  for (const double threshold : {0.1, 0.7}) {
    const Tensor equal = Tensor::full({2}, threshold);
    EXPECT_EQ(value(TruePositives(threshold), y, equal), 0);
    EXPECT_EQ(value(FalsePositives(threshold), y, equal), 0);
    EXPECT_EQ(value(FalseNegatives(threshold), y, equal), 1);
    EXPECT_EQ(value(TrueNegatives(threshold), y, equal), 1);
    EXPECT_EQ(value(Recall(threshold), y, equal), 0);
    EXPECT_THAT(Precision(threshold).update(y, equal), ElementsAre(0, 0));
    const Tensor above = Tensor::full({2}, std::nextafter(static_cast<float>(threshold), 1.0F));
    EXPECT_EQ(value(TruePositives(threshold), y, above), 1);
    EXPECT_EQ(value(FalsePositives(threshold), y, above), 1);
    EXPECT_EQ(value(Recall(threshold), y, above), 1);
    EXPECT_EQ(value(Precision(threshold), y, above), 0.5);
  }
}

TEST(PrecisionAndRecall, OfNothingAreZero) {
  EXPECT_EQ(value(Precision(), floats({1, 0}), floats({0, 0})), 0);
  EXPECT_EQ(value(Recall(), floats({0, 0}), floats({1, 0})), 0);
  EXPECT_EQ(value(Precision(), Tensor::zeros({0, 1}), Tensor::zeros({0, 1})), 0);
}

// TF case 99: AUC with 3 thresholds -> .75
TEST(Auc, IsTensorFlows) {
  const Tensor y = floats({0, 0, 1, 1});
  const Tensor predictions = floats({0, 0.5F, 0.3F, 0.9F});
  const AUC auc({.num_thresholds = 3});
  EXPECT_DOUBLE_EQ(value(auc, y, predictions), 0.75);
  EXPECT_DOUBLE_EQ(value(auc, y, predictions, floats({1, 0, 0, 1})), 1);
}

/// The exact area: the probability that a positive example has a higher score than a negative one, ties counting half.
double rank_statistic(const std::vector<double>& truths, const std::vector<double>& scores) {
  double wins = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < truths.size(); ++i)
    for (std::size_t j = 0; j < truths.size(); ++j) {
      if (truths[i] == 0 || truths[j] != 0) continue;
      wins += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
      ++pairs;
    }
  return wins / pairs;
}

TEST(Auc, OfScoresThatThresholdsTellApartIsTheExactArea) {
  std::vector<float> truths;
  std::vector<float> scores;
  for (int i = 0; i < 40; ++i) {
    truths.push_back(static_cast<float>((i * 7 + i / 5) % 3 == 0));
    scores.push_back((static_cast<float>(i * 11 % 20) + 0.5F) / 20);
  }
  const Tensor y = floats(truths);
  const double exact = rank_statistic(y.to_vector<double>(), floats(scores).to_vector<double>());
  EXPECT_NEAR(value(AUC({.num_thresholds = 21}), y, floats(scores)), exact, 1e-12);
}

TEST(Auc, OfPrecisionAndRecallIsTheFormula) {
  // True and false positives by falling threshold: (1, 0), (1, 1), (2, 2): slope 1, 0, then 1/2 through (2, 1), (4, 2).
  const AUC auc({.num_thresholds = 5, .curve = AUCCurve::pr});
  const double area = (1 + 0.5 * (1 + 0 * std::log(2.0))) / 2;
  EXPECT_NEAR(value(auc, floats({1, 0, 1, 0}), floats({0.9F, 0.6F, 0.3F, 0.3F})), area, 1e-12);
  // (0, 1), (1, 1): the line 1 * p - 1 from p = 1 to p = 2.
  EXPECT_NEAR(value(auc, floats({0, 1}), floats({0.9F, 0.6F})), 1 - std::log(2.0), 1e-12);
}

TEST(Auc, OfLogitsIsThatOfTheirSigmoids) {
  const Tensor y = floats({0, 1, 0, 1});
  const Tensor logits = floats({-2, -1, 0.5F, 3});
  std::vector<float> probabilities;
  for (const double x : logits.to_vector<double>()) probabilities.push_back(static_cast<float>(1 / (1 + std::exp(-x))));
  EXPECT_DOUBLE_EQ(value(AUC({.from_logits = true}), y, logits), value(AUC(), y, floats(probabilities)));
}

TEST(Auc, TakesItsThresholds) {
  const Tensor y = floats({0, 0, 1, 1});
  const Tensor predictions = floats({0, 0.5F, 0.3F, 0.9F});
  EXPECT_DOUBLE_EQ(value(AUC({.thresholds = {0.5}}), y, predictions), 0.75);
  // Above 0.8 there is a positive example, above 0.4 also a negative one, above 0.2 also the other positive one: (0,
  // 1/2), (1/2, 1/2), (1/2, 1).
  EXPECT_DOUBLE_EQ(value(AUC({.thresholds = {0.8, 0.2, 0.4}}), y, predictions), 0.75);
  EXPECT_DOUBLE_EQ(value(AUC({.thresholds = {0.8}}), y, predictions), 0.5 * (0.5 + 1));
  EXPECT_DOUBLE_EQ(value(AUC({.thresholds = {0.1, 0.4}}), y, predictions), 0.5 * 0.5 / 2 + 0.5 * 1);
}

TEST(Auc, OfOneClassOrNothingIsZero) {
  EXPECT_EQ(value(AUC(), floats({1, 1}), floats({0.2F, 0.7F})), 0);
  EXPECT_EQ(value(AUC({.curve = AUCCurve::pr}), floats({0, 0}), floats({0.2F, 0.7F})), 0);
  EXPECT_EQ(value(AUC(), Tensor::zeros({0}), Tensor::zeros({0})), 0);
}

// f32 holds 2^24 - 1, the number of steps between thresholds, but not all whole numbers above 2^24.
TEST(Auc, TakesAsManyThresholdsAsF32CanNumber) {
  const AUC auc({.num_thresholds = 1 << 24});
  const Metric::Sums buckets = auc.update(floats({0, 1}), floats({1, 1}));
  ASSERT_EQ(buckets.size(), std::size_t{2} << 24);
  EXPECT_EQ(buckets[(1 << 24) - 2], 1);
  EXPECT_EQ(buckets[(2 << 24) - 2], 1);
  EXPECT_ERROR(InvalidArgument, "AUC needs at least 2 and at most 16777216 thresholds, got 16777217",
               AUC({.num_thresholds = (1 << 24) + 1}));
}

TEST(Confusion, RefusesWhatDoesNotFit) {
  EXPECT_THROW(Precision(1.5), InvalidArgument);
  EXPECT_THROW(Recall(-0.1), InvalidArgument);
  EXPECT_THROW(TruePositives(2), InvalidArgument);
  EXPECT_THROW(TrueNegatives(-0.1), InvalidArgument);
  EXPECT_THROW(AUC({.num_thresholds = 1}), InvalidArgument);
  EXPECT_THROW(AUC({.thresholds = {0.5, 1.5}}), InvalidArgument);
  EXPECT_ERROR(InvalidArgument, "counted in targets and predictions of one shape, got f32 (2)",
               Precision().update(Tensor::zeros({2}), Tensor::zeros({3})));
  EXPECT_ERROR(InvalidArgument, "got f32 (2, 3, 4) on CPU:0 and f32 (2, 4, 3)",
               AUC().update(Tensor::zeros({2, 3, 4}), Tensor::zeros({2, 4, 3})));
  EXPECT_THROW(AUC().update({}, Tensor::zeros({3})), InvalidArgument);
}

class ConfusionOn : public testing::TestWithParam<int> {};

// semantics 5.16: what replicas count is added up, over uneven and empty parts
TEST_P(ConfusionOn, CountsOverAllReplicas) {
  const MirroredStrategy strategy = test::mirrored(GetParam());
  const Tensor y = floats({0, 0, 1, 1, 0, 1, 1});
  const Tensor predictions = floats({0, 0.5F, 0.3F, 0.9F, 0.6F, 0.7F, 0.8F});
  for (const Metric& metric : {Metric(Precision()), Metric(Recall()), Metric(AUC())}) {
    MetricTracker tracker(metric, strategy);
    for (const DistributedBatch& batch : strategy.distribute(Dataset::from_tensors(predictions, y).batch(3)).epoch())
      strategy.run([&](const Batch& own) { tracker.update_state(own.y(), own.x()); }, batch);
    EXPECT_EQ(tracker.result(), value(metric, y, predictions)) << metric.name();
  }
}

INSTANTIATE_TEST_SUITE_P(Replicas, ConfusionOn, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
