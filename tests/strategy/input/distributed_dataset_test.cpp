#include <chrono>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/trace/step_clock.h>

#include "input_testing.h"

namespace lockstep {
namespace {

using test::mirrored;
using test::Parts;
using test::parts_of;
using test::range;
using test::steps_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// x of example i is (i, 10 i), y is i.
Dataset numbered(std::int64_t examples) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (std::int64_t i = 0; i < examples; ++i) {
    x.push_back(static_cast<float>(i));
    x.push_back(static_cast<float>(10 * i));
    y.push_back(i);
  }
  return Dataset::from_tensors(Tensor::from(x, {examples, 2}), Tensor::from(y, {examples}));
}

class DistributedDatasetOver : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);
};

// semantics 6.1: consecutive slices, replica order; 6.4: the number of global steps; 1.1: parts that differ in shape
TEST_P(DistributedDatasetOver, DealsEveryRowOnceInOrder) {
  const DistributedDataset data = strategy_.distribute(numbered(23).batch(6));
  EXPECT_EQ(data.size(), 4);
  std::int64_t next = 0;
  std::vector<std::int64_t> global_sizes;
  for (const DistributedBatch& batch : data.epoch()) {
    ASSERT_EQ(static_cast<int>(batch.local_results().size()), replicas_);
    global_sizes.push_back(batch.global_size());
    for (const Batch& part : batch.local_results()) {
      ASSERT_EQ(part.x().shape(), (Shape{part.size(), 2}));
      ASSERT_EQ(part.y().shape(), Shape{part.size()});
      for (std::int64_t row = 0; row < part.size(); ++row, ++next) {
        EXPECT_EQ(part.x().on_host().span<float>()[2 * row + 1], static_cast<float>(10 * next));
        EXPECT_EQ(part.y().on_host().span<std::int64_t>()[row], next);
      }
    }
  }
  EXPECT_EQ(next, 23);
  EXPECT_EQ(global_sizes, (std::vector<std::int64_t>{6, 6, 6, 5}));
}

// semantics 6.3: kept; zero rows of the right dtype and trailing shape
TEST_P(DistributedDatasetOver, TheLastReplicasOfAShortBatchGetNoRows) {
  auto pass = strategy_.distribute(numbered(1).batch(4)).epoch();
  const auto batch = pass.next();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->global_size(), 1);
  for (int replica = 0; replica < replicas_; ++replica) {
    const Batch& part = batch->local_results()[replica];
    EXPECT_EQ(part.x().shape(), (Shape{replica == 0 ? 1 : 0, 2}));
    EXPECT_EQ(part.y().shape(), Shape{replica == 0 ? 1 : 0});
    EXPECT_EQ(part.y().dtype(), DType::i64);
  }
}

// semantics 6.4: "stays at the end"; next() is get_next_as_optional() with its has_value().
TEST_P(DistributedDatasetOver, StaysAtTheEndAndStartsAgainWhenTold) {
  DistributedIterator pass = strategy_.distribute(numbered(6).shuffle({.seed = 3}).batch(6)).epoch(1);
  const auto labels = [&] {
    std::vector<std::int64_t> labels;
    const auto batch = pass.next();
    for (const Batch& part : batch->local_results())
      for (const std::int64_t label : part.y().to_vector<std::int64_t>()) labels.push_back(label);
    return labels;
  };
  const std::vector<std::int64_t> first = labels();
  for (int asked = 0; asked < 3; ++asked) EXPECT_FALSE(pass.next().has_value());
  pass.begin_epoch(2);
  EXPECT_NE(labels(), first);  // TF case 95, testShuffleAcrossIterations: reshuffled, or fixed by the number
  pass.begin_epoch(1);
  EXPECT_EQ(labels(), first);
}

TEST_P(DistributedDatasetOver, ANewEpochMayBeginInTheMiddleOfAnother) {
  DistributedIterator pass = strategy_.distribute(range(100).batch(10)).epoch();
  const Parts first = parts_of(*pass.next());
  (void)pass.next();
  pass.begin_epoch(1);
  EXPECT_EQ(parts_of(*pass.next()), first);
  EXPECT_EQ(steps_of(pass).size(), 9U);
}

// semantics 6.5. TF case 94: next inside a replica.
// semantics 12.21: what TensorFlow traces is the replicas' step here
TEST_P(DistributedDatasetOver, IsIteratedOutsideReplicas) {
  const Dataset batches = numbered(4).batch(2);
  EXPECT_ERROR(LogicError, "outside replicas", strategy_.run([&] { strategy_.distribute(batches).epoch().next(); }));
}

// semantics 6.9
TEST_P(DistributedDatasetOver, HasTheSameStepsWithAnyBuffer) {
  const Dataset data = range(50).shuffle({.seed = 2}).batch(7);
  const std::vector<Parts> without = steps_of(strategy_.distribute(data, {.per_replica_buffer_size = 0}), 4);
  for (const std::int64_t buffer : {1, 2, 100})
    EXPECT_EQ(steps_of(strategy_.distribute(data, {.per_replica_buffer_size = buffer}), 4), without);
}

INSTANTIATE_TEST_SUITE_P(Replicas, DistributedDatasetOver, testing::ValuesIn(test::replica_counts));

// TF case 84: testTwoDevices. TF case 95: testCacheAcrossIteration, with nothing to cache.
TEST(DistributedDataset, RepeatsWhenIteratedAgain) {
  const DistributedDataset data = mirrored(2).distribute(range(10).batch(2));
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    DistributedIterator pass = data.epoch(epoch);
    EXPECT_THAT(steps_of(pass),
                ElementsAre(Parts{{0}, {1}}, Parts{{2}, {3}}, Parts{{4}, {5}}, Parts{{6}, {7}}, Parts{{8}, {9}}));
    EXPECT_FALSE(pass.next().has_value());
  }
}

// TF case 84, testTupleDataset: pairs (i, i * i).
TEST(DistributedDataset, KeepsPairsTogether) {
  const Dataset pairs = range(10).map([](const Example& i) { return Example{{i.x()}, {square(i.x())}}; }).batch(2);
  float next = 0;
  for (const DistributedBatch& batch : mirrored(2).distribute(pairs).epoch())
    for (const Batch& part : batch.local_results()) {
      EXPECT_EQ(part.x().item<float>(), next);
      EXPECT_EQ(part.y().item<float>(), next * next);
      ++next;
    }
  EXPECT_EQ(next, 10);
}

// TF case 86: global batches of 10 are split, 5 rows a replica. (Shapes are never static here: next() reports the end.)
TEST(DistributedDataset, SplitsGlobalBatches) {
  const auto steps = steps_of(mirrored(2).distribute(range(100).batch(10)));
  ASSERT_EQ(steps.size(), 10U);
  EXPECT_EQ(steps[0], (Parts{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}));
  EXPECT_EQ(steps[9], (Parts{{90, 91, 92, 93, 94}, {95, 96, 97, 98, 99}}));
}

// TF case 89 with two replicas for its two workers, which belong to the multi-worker strategy.
TEST(DistributedDataset, DealsTheLastPartialBatchEvenly) {
  const auto steps = steps_of(mirrored(2).distribute(range(14).batch(8)));
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1], (Parts{{8, 9, 10}, {11, 12, 13}}));
}

// semantics 14.1, Probe P1: the last step of range(10) in batches of 4 is [8]|[9]; TensorFlow's policy OFF has
// [8,9]|[].
TEST(DistributedDataset, WorkedExamples) {
  EXPECT_THAT(steps_of(mirrored(2).distribute(range(7).batch(3))),
              ElementsAre(Parts{{0, 1}, {2}}, Parts{{3, 4}, {5}}, Parts{{6}, {}}));
  EXPECT_EQ(steps_of(mirrored(2).distribute(range(10).batch(4))).back(), (Parts{{8}, {9}}));
  EXPECT_EQ(steps_of(mirrored(3).distribute(range(4).batch(4))).front(), (Parts{{0, 1}, {2}, {3}}));
}

// semantics 6.4: until the end of the data. TF case 92, testDatasetIterationInFunction, testDatasetOutOfRange: rows
// [5,6,7,8] in batches of 2.
TEST(DistributedDataset, StepsRunOverItsBatches) {
  const MirroredStrategy strategy = mirrored(2);
  DistributedIterator pass = strategy.distribute(range(4, 5).batch(2)).epoch();
  const auto scalar = [&](Aggregation aggregation, double value) {
    return strategy.scope([&] {
      return Variable({.name = "v",
                       .shape = {},
                       .initializer = [=](const Tensor& out) { copy(Tensor::full({}, value), out); },
                       .aggregation = aggregation});
    });
  };
  const Variable counter = scalar(Aggregation::only_first_replica, 1);
  const Variable all_rows = scalar(Aggregation::sum, 0);
  double product = 1;
  double total = 0;
  int steps = 0;
  while (const auto batch = pass.next()) {
    const auto rows = strategy.run(
        [&](const Batch& local) {
          counter.assign_add(Tensor::full({}, 1));
          all_rows.assign_add(sum(local.x()));
          return sum(local.x());
        },
        *batch);
    const double sum_of_rows = strategy.reduce(ReduceOp::sum, rows).item<float>();
    product *= sum_of_rows / static_cast<double>(batch->global_size());
    total += sum_of_rows;
    ++steps;
  }
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(2 * product, 82.5);
  EXPECT_EQ(total, 26);
  EXPECT_EQ(counter.value().item<float>(), 3);
  EXPECT_EQ(all_rows.value().item<float>(), 26);
  EXPECT_FALSE(pass.next().has_value());
}

// TF case 92, testDatasetAssertWithDynamicBatch: squares [25,36] and [49]. semantics 6.3, 15.3: fn runs on none, too
TEST(DistributedDataset, AStepRunsOnReplicasWithoutRowsToo) {
  const MirroredStrategy strategy = mirrored(2);
  std::vector<std::vector<float>> squares;
  for (const DistributedBatch& batch : strategy.distribute(range(3, 5).batch(2)).epoch())
    for (const Tensor& part : strategy.run([](const Batch& local) { return square(local.x()); }, batch).local_results())
      squares.push_back(part.to_vector<float>());
  EXPECT_THAT(squares, ElementsAre(ElementsAre(25), ElementsAre(36), ElementsAre(49), ElementsAre()));
}

// TF case 95, PER_WORKER: the first row of a batch goes to replica 0, the second to replica 1. There is no
// place_dataset_on_device or fetch_to_device here, whose combinations the case refuses: replicas on the CPU read
// batches where they are.
TEST(DistributedDataset, DealsRowsInReplicaOrder) {
  const Dataset rows = Dataset::from_tensors(Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {2, 5}));
  EXPECT_THAT(steps_of(mirrored(2).distribute(rows.batch(2))), ElementsAre(Parts{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}));
}

TEST(DistributedDataset, WithoutAnEndHasNoSize) {
  EXPECT_EQ(mirrored(2).distribute(numbered(4).batch(2).repeat()).size(), std::nullopt);
}

TEST(DistributedDataset, WaitingForInputIsTheCallersTime) {
  StepClock::take();
  mirrored(2).distribute(numbered(4).batch(2)).epoch().next();
  EXPECT_GT(StepClock::take()[static_cast<std::size_t>(Phase::input)], 0);
}

// semantics 6.8
TEST(DistributedDataset, RefusesOptionsThatDoNotFit) {
  const MirroredStrategy strategy = mirrored(2);
  const auto with = [&](const DistributeOptions& options) { (void)strategy.distribute(range(4).batch(2), options); };
  EXPECT_ERROR(InvalidArgument, "per_replica_buffer_size must not be negative, got -1",
               with({.per_replica_buffer_size = -1}));
  EXPECT_ERROR(InvalidArgument, "3 batch shares", with({.shares = {1, 2, 3}}));
  EXPECT_ERROR(InvalidArgument, "measure_steps must not be negative", with({.measure_steps = -2}));
  EXPECT_ERROR(InvalidArgument, "either given or measured", with({.shares = {1, 2}, .measure_steps = 1}));
}

// semantics 6.2: "refuse rank 0 clearly", with and without a background thread.
TEST(DistributedDataset, RefusesUnbatchedExamples) {
  for (const std::int64_t buffer : {0, 2}) {
    DistributedIterator pass = mirrored(2).distribute(range(4), {.per_replica_buffer_size = buffer}).epoch();
    EXPECT_ERROR(InvalidArgument, "call batch()", pass.next());
    EXPECT_FALSE(pass.next().has_value()) << "a pass that failed is at its end";
  }
}

// The loss of such a batch would be 0 / 0.
TEST(DistributedDataset, RefusesBatchesWithoutRows) {
  const auto make = [](std::uint64_t) -> DatasetIterator {
    return [number = 0]() mutable -> std::optional<Batch> {
      if (number == 3) return std::nullopt;
      return Batch{{Tensor::zeros({number++ == 1 ? 0 : 2, 5})}};
    };
  };
  const Dataset batches = Dataset::from_generator(make);
  const auto not_empty = [](const Batch& batch) { return batch.size() > 0; };
  for (const std::int64_t buffer : {0, 2}) {
    const DistributeOptions options{.per_replica_buffer_size = buffer};
    DistributedIterator pass = mirrored(2).distribute(batches, options).epoch();
    EXPECT_EQ(pass.next()->global_size(), 2);
    EXPECT_ERROR(InvalidArgument, "a batch of the data set has no rows", pass.next());
    EXPECT_FALSE(pass.next().has_value()) << "a pass that failed is at its end";
    EXPECT_EQ(steps_of(mirrored(2).distribute(batches.filter(not_empty), options)).size(), 2U);
  }
}

}  // namespace
}  // namespace lockstep
