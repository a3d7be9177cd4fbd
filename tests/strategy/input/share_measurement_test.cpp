#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/strategy/input/share_measurement.h>

#include "input_testing.h"

namespace lockstep {
namespace {

using test::this_replica;
using testing::ElementsAre;
using testing::IsEmpty;

using Rows = std::vector<std::int64_t>;
using Seconds = std::vector<double>;

TEST(ShareMeasurement, IsRowsPerSecondOfTheStepsAfterTheFirst) {
  ShareMeasurement measurement(2, 2);
  measurement.add_step(Rows{4, 4}, Seconds{100, 1});  // warm-up
  measurement.add_step(Rows{4, 4}, Seconds{1, 2});
  EXPECT_THAT(measurement.shares(), IsEmpty());
  measurement.add_step(Rows{2, 2}, Seconds{1, 1});
  EXPECT_THAT(measurement.shares(), ElementsAre(3, 2));
  measurement.add_step(Rows{4, 4}, Seconds{9, 1});
  EXPECT_THAT(measurement.shares(), ElementsAre(3, 2)) << "fixed";
}

TEST(ShareMeasurement, PassesOverStepsThatSayNothingOfAReplica) {
  ShareMeasurement measurement(2, 1);
  measurement.add_step(Rows{1, 1}, Seconds{1, 1});
  measurement.add_step(Rows{1, 0}, Seconds{1, 1});
  measurement.add_step(Rows{1, 1}, Seconds{1, 0});
  EXPECT_THAT(measurement.shares(), IsEmpty());
  measurement.add_step(Rows{1, 3}, Seconds{1, 1});
  EXPECT_THAT(measurement.shares(), ElementsAre(1, 3));
}

TEST(ShareMeasurement, NeedsAStep) { EXPECT_ERROR(InvalidArgument, "at least 1 step, got 0", ShareMeasurement(2, 0)); }

/// A step in which replica 1 needs long for each row; the barrier at the end makes it equally long for all replicas.
void limping_step(const Batch& local) {
  if (this_replica() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(25) * local.size());
  get_replica_context().barrier("the end of the step");
}

// Only the order is asserted: load on the machine may slow the fast replica down, but not speed up the slow one.
TEST(MeasuredShares, GiveTheSlowReplicaFewerRowsFromTheStepAfterTheLastMeasuredOne) {
  const MirroredStrategy strategy = test::mirrored(3);
  const DistributedDataset data = strategy.distribute(test::range(600).batch(12), {.measure_steps = 2});
  DistributedIterator pass = data.epoch();
  for (int step = 0; step < 3; ++step) {
    EXPECT_THAT(data.shares(), IsEmpty());
    const auto batch = pass.next();
    EXPECT_EQ(batch->local_results()[1].size(), 4);
    strategy.run(limping_step, *batch);
  }
  ASSERT_EQ(data.shares().size(), 3U);
  EXPECT_LT(data.shares()[1], data.shares()[0]);
  EXPECT_LT(data.shares()[1], data.shares()[2]);

  // Two batches had been prepared ahead; they are split anew, and no row is lost.
  float next = 36;
  const std::vector<double> fixed = data.shares();
  for (int step = 3; step < 8; ++step) {
    const auto batch = pass.next();
    EXPECT_LT(batch->local_results()[1].size(), 4);
    EXPECT_EQ(batch->global_size(), 12);
    for (const std::vector<float>& part : test::parts_of(*batch))
      for (const float x : part) EXPECT_EQ(x, next++);
    strategy.run(limping_step, *batch);
    EXPECT_EQ(data.shares(), fixed);
  }
  EXPECT_EQ(data.epoch(1).next()->global_size(), 12) << "shares hold for later passes, too";
  EXPECT_LT(data.epoch(1).next()->local_results()[1].size(), 4);
}

TEST(MeasuredShares, CountRunsThatAreGivenTheBatchAlone) {
  const MirroredStrategy strategy = test::mirrored(2);
  const DistributedDataset data = strategy.distribute(test::range(40).batch(4), {.measure_steps = 1});
  DistributedIterator pass = data.epoch();
  for (int i = 0; i < 5; ++i) {
    (void)pass.next();
    strategy.run([] { std::this_thread::sleep_for(std::chrono::microseconds(10)); });
  }
  EXPECT_THAT(data.shares(), IsEmpty());
}

TEST(MeasuredShares, OfOneReplicaAreNone) {
  const MirroredStrategy strategy = test::mirrored(1);
  const DistributedDataset data = strategy.distribute(test::range(40).batch(4), {.measure_steps = 1});
  for (const DistributedBatch& batch : data.epoch()) strategy.run([](const Batch&) {}, batch);
  EXPECT_THAT(data.shares(), IsEmpty());
}

TEST(GivenShares, HoldForEveryBatch) {
  const auto steps = test::steps_of(test::mirrored(2).distribute(test::range(8).batch(3), {.shares = {2, 1}}));
  EXPECT_THAT(steps, ElementsAre(test::Parts{{0, 1}, {2}}, test::Parts{{3, 4}, {5}}, test::Parts{{6}, {7}}));
}

}  // namespace
}  // namespace lockstep
