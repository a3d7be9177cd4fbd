#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tolerance.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/strategy/input/distributed_dataset.h>

// A user-defined metric: its state is variables that each replica updates separately and that are read as sums.

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;

Variable state(const std::string& name) {
  return Variable({.name = name,
                   .shape = {},
                   .initializer = [](const Tensor& out) { copy(Tensor::zeros({}), out); },
                   .synchronization = Synchronization::on_read,
                   .aggregation = Aggregation::sum});
}

float read(const Variable& v) { return v.value().item<float>(); }

struct Mean {
  Variable total = state("total");
  Variable count = state("count");

  void update(const Tensor& values, double weight = 1) const {
    total.assign_add(sum(values) * weight);
    count.assign_add(weight * static_cast<double>(values.elements()));
  }
  /// Update outside replicas, where a sum does not support adding: read, add, assign.
  void update_across(double value) const {
    total.assign(read(total) + value);
    count.assign(read(count) + 1);
  }
  float result() const { return read(total) / read(count); }
  void reset() const {
    total.assign(0);
    count.assign(0);
  }
};

Dataset range(std::int64_t rows) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows; ++i) values.push_back(static_cast<float>(i));
  return Dataset::from_tensors(Tensor::from(values, {rows}));
}

class MetricState : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);
  const Mean mean_ = strategy_.scope([] { return Mean(); });
};

// TF case 99: Mean over range(10) in batches of 2 is 4.5, with weights of .1 too, over uneven and empty parts
// semantics 5.16: a replica adds to its own, result() sums, reset assigns 0
TEST_P(MetricState, OfAMeanIsExactForUnevenParts) {
  for (const double weight : {1.0, 0.1}) {
    mean_.reset();
    for (const DistributedBatch& batch : strategy_.distribute(range(10).batch(2)).epoch())
      strategy_.run([&](const Batch& own) { mean_.update(own.x(), weight); }, batch);
    // Sums of ten terms up to 9, and one division.
    EXPECT_NEAR(mean_.result(), 4.5, test::tolerance(DType::f32, 10, 4.5));
  }
}

// TF case 99: over batches of 4, after n of them: 2n - 0.5
TEST_P(MetricState, OfAMeanCanBeReadAfterEveryStep) {
  int n = 0;
  for (const DistributedBatch& batch : strategy_.distribute(range(16).batch(4)).epoch()) {
    strategy_.run([&](const Batch& own) { mean_.update(own.x()); }, batch);
    ++n;
    EXPECT_FLOAT_EQ(mean_.result(), 2 * static_cast<float>(n) - 0.5F);
  }
  EXPECT_EQ(n, 4);
}

// TF case 99: a metric updated cross-replica. semantics 5.16: reads the sum, adds, and assigns it back split over R
TEST_P(MetricState, OfAMeanIsUpdatedOutsideReplicas) {
  strategy_.run([&] { mean_.update(Tensor::full({1}, this_replica())); });
  const float sum = static_cast<float>(replicas_ * (replicas_ - 1)) / 2;
  mean_.update_across(8);
  EXPECT_FLOAT_EQ(read(mean_.total), sum + 8);
  EXPECT_FLOAT_EQ(read(mean_.count), static_cast<float>(replicas_ + 1));
  for (const Tensor& own : mean_.total.state().copies())
    EXPECT_FLOAT_EQ(own.item<float>(), (sum + 8) / static_cast<float>(replicas_));
}

// TF case 99: Sum of one per replica -> R
TEST_P(MetricState, OfASumCountsEveryReplica) {
  const Variable sum = strategy_.scope([] { return state("sum"); });
  strategy_.run([&] { sum.assign_add(1); });
  EXPECT_EQ(read(sum), static_cast<float>(replicas_));
}

/// True positives, predicted positives and positives at a threshold.
struct Counts {
  Variable hits = state("hits");
  Variable predicted = state("predicted");
  Variable positive = state("positive");

  void update(float truth, float prediction, float threshold) const {
    const bool is_predicted = prediction > threshold;
    hits.assign_add(is_predicted && truth > 0 ? 1 : 0);
    predicted.assign_add(is_predicted ? 1 : 0);
    positive.assign_add(truth > 0 ? 1 : 0);
  }
};

/// Calls `update` with each of four examples, distributed over the replicas in turn.
template <class Update>
void for_each_example(const Strategy& strategy, const std::array<float, 4>& truth,
                      const std::array<float, 4>& predictions, const Update& update) {
  strategy.run([&] {
    for (std::size_t i = static_cast<std::size_t>(this_replica()); i < 4;
         i += static_cast<std::size_t>(strategy.num_replicas_in_sync()))
      update(truth[i], predictions[i]);
  });
}

// TF case 99: Precision and Recall of ([0,1,1,1], [1,0,1,1]) -> .6667
TEST_P(MetricState, OfPrecisionAndRecallAreCounts) {
  const Counts counts = strategy_.scope([] { return Counts(); });
  for_each_example(strategy_, {0, 1, 1, 1}, {1, 0, 1, 1},
                   [&](float truth, float prediction) { counts.update(truth, prediction, 0.5F); });
  EXPECT_FLOAT_EQ(read(counts.hits) / read(counts.predicted), 2.0F / 3);
  EXPECT_FLOAT_EQ(read(counts.hits) / read(counts.positive), 2.0F / 3);
}

// TF case 99: AUC with 3 thresholds -> .75: trapezoids under the curve of hits over false alarms, for [0,0,1,1] and
// the predictions [0, .5, .3, .9]
TEST_P(MetricState, OfTheAreaUnderTheCurveAreCountsAtEachThreshold) {
  const std::vector<Counts> at = strategy_.scope([] { return std::vector<Counts>(3); });
  const float thresholds[] = {-1e-7F, 0.5F, 1 + 1e-7F};
  for_each_example(strategy_, {0, 0, 1, 1}, {0, 0.5F, 0.3F, 0.9F}, [&](float truth, float prediction) {
    for (std::size_t i = 0; i < 3; ++i) at[i].update(truth, prediction, thresholds[i]);
  });
  float area = 0;
  const auto hits = [&](std::size_t i) { return read(at[i].hits) / 2; };
  const auto alarms = [&](std::size_t i) { return (read(at[i].predicted) - read(at[i].hits)) / 2; };
  for (std::size_t i = 0; i < 2; ++i) area += (alarms(i) - alarms(i + 1)) * (hits(i) + hits(i + 1)) / 2;
  EXPECT_FLOAT_EQ(area, 0.75F);
}

INSTANTIATE_TEST_SUITE_P(Replicas, MetricState, testing::ValuesIn(test::replica_counts));

// semantics 5.16: made outside the scope it would be one plain variable that every replica writes
TEST(MetricStateOfNoStrategy, IsNotWrittenByReplicas) {
  const Mean mean;
  EXPECT_ERROR(LogicError, "'total' was made outside the strategy's scope",
               mirrored(2).run([&] { mean.update(Tensor::zeros({1})); }));
}

}  // namespace
}  // namespace lockstep
