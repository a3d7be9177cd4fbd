#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/metrics/values.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/models/metrics/keras_metrics.h>
#include <lockstep/models/metrics/metric_tracker.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {
namespace {

using test::floats;
using testing::DoubleEq;
using testing::ElementsAre;

TEST(Metric, MeanWeightsExamplesByTheirMeans) {
  const Tensor values = Tensor::from(std::vector<float>{1, 3, 5, 7, 0, 2}, {3, 2});  // means 2, 6, 1
  EXPECT_THAT(Mean().update({}, values), ElementsAre(9, 3));
  EXPECT_THAT(Mean().update({}, values, floats({1, 0.5F, 4})), ElementsAre(2 + 3 + 4, 5.5));
  EXPECT_DOUBLE_EQ(Mean().result({9, 5.5}), 9 / 5.5);
  EXPECT_EQ(Mean("loss").name(), "loss");
}

TEST(Metric, SumWeightsExamplesByTheirSums) {
  const Tensor values = Tensor::from(std::vector<float>{1, 3, 5, 7}, {2, 2});
  EXPECT_THAT(Sum().update({}, values), ElementsAre(16));
  EXPECT_THAT(Sum().update({}, values, floats({1, 0})), ElementsAre(4));
}

TEST(Metric, OfNoExamplesIsZero) {
  EXPECT_EQ(Mean().result({}), 0);
  EXPECT_EQ(Mean().result(Mean().update({}, Tensor::zeros({0, 3}))), 0);
  EXPECT_EQ(Sum().result(Sum().update({}, Tensor::zeros({0}))), 0);
}

TEST(Metric, IsNotRecorded) {
  const Tensor predictions = test::random_tensor({4, 3}, 1);
  bool was_recording = true;
  const MeanMetricWrapper spy("spy", [&](const Tensor&, const Tensor& y_pred) {
    was_recording = recording({y_pred});
    return std::vector<double>(4);
  });
  GradientTape tape;
  tape.watch(predictions);
  spy.update({}, predictions);
  EXPECT_FALSE(was_recording);
  EXPECT_TRUE(recording({predictions}));
}

TEST(Metric, RefusesWhatDoesNotFit) {
  EXPECT_ERROR(InvalidArgument, "4 examples need as many sample weights, got f32 (3)",
               Mean().update({}, Tensor::zeros({4}), Tensor::zeros({3})));
  EXPECT_ERROR(InvalidArgument, "mean needs predictions with an axis", Mean().update({}, Tensor::zeros({})));
  const MeanMetricWrapper short_one("short", [](const Tensor&, const Tensor&) { return std::vector<double>{1}; });
  EXPECT_ERROR(InvalidArgument, "4 examples or masked time steps got 1 values",
               short_one.update({}, Tensor::zeros({4})));
}

TEST(Metric, IsALossUnderItsName) {
  const Loss doubled("doubled", [](const Tensor&, const Tensor& y_pred) { return y_pred; });
  const MeanMetricWrapper metric(doubled);
  EXPECT_EQ(metric.name(), "doubled");
  EXPECT_EQ(metric.direction(), Direction::down);
  EXPECT_DOUBLE_EQ(metric.result(metric.update({}, floats({1, 2, 6}), floats({1, 1, 2}))), 15.0 / 4);
}

class TrackerOn : public testing::TestWithParam<int> {
 protected:
  const MirroredStrategy strategy_ = test::mirrored(GetParam());

  /// Updates the metric with batches of 0, 1, ..., rows - 1, with these weights.
  void update(MetricTracker& tracker, std::int64_t rows, std::int64_t batch, double weight) const {
    std::vector<float> values;
    for (std::int64_t i = 0; i < rows; ++i) values.push_back(static_cast<float>(i));
    const Dataset data = Dataset::from_tensors(floats(values), {}, Tensor::full({rows}, weight));
    for (const DistributedBatch& step : strategy_.distribute(data.batch(batch)).epoch())
      strategy_.run([&](const Batch& own) { tracker.update_state({}, own.x(), own.sample_weight()); }, step);
  }
};

// TF case 99: Mean over range(10) in batches of 2 is 4.5, with weights of .1 too, also after a reset
// semantics 5.16
TEST_P(TrackerOn, MeanIsExactForUnevenAndEmptyParts) {
  MetricTracker mean(Mean(), strategy_);
  for (const double weight : {1.0, 0.1}) {
    mean.reset_state();
    update(mean, 10, 2, weight);
    EXPECT_THAT(mean.result(), DoubleEq(4.5));
  }
}

// TF case 99: a metric updated cross-replica too
TEST_P(TrackerOn, CountsWhatIsAddedOutsideReplicas) {
  MetricTracker mean = strategy_.scope([] { return MetricTracker(Mean()); });
  update(mean, 10, 4, 1);
  mean.update_state({}, floats({100}));
  EXPECT_THAT(mean.result(), DoubleEq(145.0 / 11));
}

// TF case 99: Sum of one per replica -> R
TEST_P(TrackerOn, SumCountsEveryReplica) {
  MetricTracker sum(Sum(), strategy_);
  strategy_.run([&] { sum.update_state({}, floats({1})); });
  EXPECT_EQ(sum.result(), GetParam());
}

TEST_P(TrackerOn, SumsOfEveryMetricAreThoseOfOneDevice) {
  const Tensor y = Tensor::from(std::vector<float>{1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1}, {7, 2});
  const Tensor predictions = test::random_tensor({7, 2}, 1, 0.2, 1);
  const Tensor weights = floats({1, 0.5F, 2, 0, 1, 1.5F, 3});
  for (const Metric& metric : std::initializer_list<Metric>{
           F1Score({.average = FScoreAverage::macro}), FBetaScore({.average = FScoreAverage::weighted, .beta = 2}),
           BinaryIoU(), OneHotMeanIoU({.num_classes = 2}), R2Score(), RootMeanSquaredError(), CosineSimilarityMetric(),
           TruePositives(), FalsePositives(), FalseNegatives(), TrueNegatives()}) {
    MetricTracker tracker(metric, strategy_);
    const Dataset data = Dataset::from_tensors(predictions, y, weights);
    for (const DistributedBatch& batch : strategy_.distribute(data.batch(4)).epoch())
      strategy_.run([&](const Batch& own) { tracker.update_state(own.y(), own.x(), own.sample_weight()); }, batch);
    const double whole = metric.result(metric.update(y, predictions, weights));
    EXPECT_NE(whole, 0) << metric.name();
    EXPECT_NEAR(tracker.result(), whole, 1e-12) << metric.name();
  }
}

TEST_P(TrackerOn, IsReadOutsideReplicas) {
  MetricTracker mean(Mean(), strategy_);
  EXPECT_ERROR(LogicError, "result() of 'mean' was called inside a replica",
               strategy_.run([&] { (void)mean.result(); }));
  EXPECT_ERROR(LogicError, "reset_state() of 'mean' was called inside a replica",
               strategy_.run([&] { mean.reset_state(); }));
}

INSTANTIATE_TEST_SUITE_P(Replicas, TrackerOn, testing::ValuesIn(test::replica_counts));

TEST(MetricTracker, OfOneReplicaIsNotForMore) {
  MetricTracker mean{Mean()};
  EXPECT_ERROR(LogicError, "'mean' was made for 1 replica(s)",
               test::mirrored(2).run([&] { mean.update_state({}, Tensor::zeros({1})); }));
}

}  // namespace
}  // namespace lockstep
