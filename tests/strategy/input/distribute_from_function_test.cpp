#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include "input_testing.h"

namespace lockstep {
namespace {

using test::mirrored;
using test::Parts;
using test::range;
using test::steps_of;
using testing::ElementsAre;

constexpr InputOptions each_replica{.replication_mode = ReplicationMode::per_replica};

/// The data set with x multiplied by `factor`.
Dataset scaled(const Dataset& set, float factor) {
  return set.map([factor](const Example& example) {
    return Example{{Tensor::full(example.x().shape(), factor * example.x().item<float>())}};
  });
}

// semantics 6.7: get_per_replica_batch_size. TF case 94, InputContextTest.
TEST(InputContext, DividesTheGlobalBatch) {
  const InputContext context{.num_input_pipelines = 3, .input_pipeline_id = 1, .num_replicas_in_sync = 6};
  EXPECT_EQ(context.get_per_replica_batch_size(12), 2);
  EXPECT_ERROR(InvalidArgument, "global batch of 13 does not divide into equal batches for 6 replicas",
               context.get_per_replica_batch_size(13));
  EXPECT_ERROR(InvalidArgument, "global batch of 0", context.get_per_replica_batch_size(0));
  EXPECT_EQ(context.text(), "input pipeline id 1, total: 3");
}

class FromFunctionOver : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);
};

// semantics 6.7: distribute_datasets_from_function.
TEST_P(FromFunctionOver, CallsTheFunctionOnceForDataOfAllReplicas) {
  std::vector<std::string> calls;
  const DistributedDataset data = strategy_.distribute_from_function([&](const InputContext& context) {
    EXPECT_EQ(context.num_replicas_in_sync, replicas_);
    calls.push_back(context.text());
    return range(20).batch(context.get_per_replica_batch_size(2 * replicas_));
  });
  for (int epoch = 0; epoch < 2; ++epoch) (void)steps_of(data, static_cast<std::uint64_t>(epoch));
  EXPECT_THAT(calls, ElementsAre("input pipeline id 0, total: 1"));
}

// semantics 6.7: dealt in turn to replicas
TEST_P(FromFunctionOver, DealsPerReplicaBatchesInTurnAndLosesNone) {
  const DistributedDataset data =
      strategy_.distribute_from_function([](const InputContext&) { return range(23).batch(2); });
  std::vector<float> seen;
  std::int64_t steps = 0;
  for (const DistributedBatch& batch : data.epoch()) {
    std::int64_t rows = 0;
    for (const Batch& part : batch.local_results()) {
      EXPECT_LE(part.size(), 2);
      rows += part.size();
      for (const float x : part.x().to_vector<float>()) seen.push_back(x);
    }
    EXPECT_EQ(batch.global_size(), rows);
    ++steps;
  }
  EXPECT_EQ(seen, range(23).batch(23).epoch().next()->x().to_vector<float>());
  EXPECT_EQ(data.size(), steps);
}

// semantics 6.8: f called R times, pipeline id r of R
TEST_P(FromFunctionOver, InEachReplicaModeCallsItForEveryReplica) {
  std::vector<std::string> calls;
  const DistributedDataset data = strategy_.distribute_from_function(
      [&](const InputContext& context) {
        calls.push_back(context.text());
        return scaled(range(9, 1), static_cast<float>(context.input_pipeline_id + 1)).batch(1);
      },
      each_replica);
  ASSERT_EQ(calls.size(), static_cast<std::size_t>(replicas_));
  EXPECT_EQ(calls.back(), fmt::format("input pipeline id {}, total: {}", replicas_ - 1, replicas_));
  // TF case 95, PER_REPLICA: (id + 1) * [1..9] gives i and 2i over 9 steps.
  const std::vector<Parts> steps = steps_of(data);
  EXPECT_EQ(data.size(), 9);
  ASSERT_EQ(steps.size(), 9U);
  for (std::size_t step = 0; step < 9; ++step)
    for (std::size_t replica = 0; replica < steps[step].size(); ++replica)
      EXPECT_THAT(steps[step][replica], ElementsAre(static_cast<float>((replica + 1) * (step + 1))));
}

// semantics 6.8, 15.7, Probe P7: in TensorFlow one PER_REPLICA call makes later default calls hand every replica the
// same rows.
TEST_P(FromFunctionOver, TheOptionsOfOneCallDoNotReachTheNext) {
  const auto rows = [](const InputContext&) { return range(20).batch(1); };
  const std::vector<Parts> before = steps_of(strategy_.distribute_from_function(rows));
  const std::vector<Parts> same_rows = steps_of(strategy_.distribute_from_function(rows, each_replica));
  EXPECT_EQ(steps_of(strategy_.distribute_from_function(rows)), before);
  EXPECT_EQ(same_rows.size(), 20U);
  for (const std::vector<float>& part : same_rows[3]) EXPECT_THAT(part, ElementsAre(3));
}

INSTANTIATE_TEST_SUITE_P(Replicas, FromFunctionOver, testing::ValuesIn(test::replica_counts));

// TF case 86, without rebatch.
TEST(DistributeFromFunction, DoesNotRebatch) {
  const auto steps =
      steps_of(mirrored(2).distribute_from_function([](const InputContext&) { return range(100).batch(10); }));
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_THAT(steps[0][0], ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(steps[0][1], ElementsAre(10, 11, 12, 13, 14, 15, 16, 17, 18, 19));
}

// semantics 14.2: TensorFlow gives one step of three batches, and rows 6 and 7 are lost.
TEST(DistributeFromFunction, BatchesLeftForSomeReplicasAreAStep) {
  const auto steps = steps_of(mirrored(3).distribute_from_function(
      [](const InputContext&) { return range(8).batch(2, /*drop_remainder=*/true); }));
  EXPECT_THAT(steps, ElementsAre(Parts{{0, 1}, {2, 3}, {4, 5}}, Parts{{6, 7}, {}, {}}));
}

// TF case 89, ..FromFn: there each of two workers shards; here the function does, for each of two replicas.
TEST(DistributeFromFunction, ShardsAreTheFunctionsBusiness) {
  const auto steps = steps_of(mirrored(2).distribute_from_function(
      [](const InputContext& context) {
        return context.input_pipeline_id == 0 ? range(8).batch(4) : range(6, 8).batch(4);
      },
      each_replica));
  EXPECT_THAT(steps, ElementsAre(Parts{{0, 1, 2, 3}, {8, 9, 10, 11}}, Parts{{4, 5, 6, 7}, {12, 13}}));
}

// TF case 90 belongs to the multi-worker strategy: there AUTO shards range(4) over two workers, 0,2 and 1,3, and OFF
// gives both all of it. On one machine data sets of several pipelines are what the function makes them.
TEST(DistributeFromFunction, NothingIsShardedUnasked) {
  const auto all = [](const InputContext&) { return range(4).batch(1); };
  EXPECT_THAT(steps_of(mirrored(2).distribute_from_function(all, each_replica)),
              ElementsAre(Parts{{0}, {0}}, Parts{{1}, {1}}, Parts{{2}, {2}}, Parts{{3}, {3}}));
}

TEST(DistributeFromFunction, PassesOfUnequalLengthEndWithTheLongest) {
  const DistributedDataset data = mirrored(2).distribute_from_function(
      [](const InputContext& context) { return range(1 + 2 * context.input_pipeline_id).batch(1); }, each_replica);
  EXPECT_EQ(data.size(), 3);
  EXPECT_THAT(steps_of(data), ElementsAre(Parts{{0}, {0}}, Parts{{}, {1}}, Parts{{}, {2}}));
}

TEST(DistributeFromFunction, CountsTheStepsAndDroppedExamplesOfVeryLongSets) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto repeated = [](const InputContext&) { return range(1).batch(1).repeat(most - 1); };
  EXPECT_EQ(mirrored(2).distribute_from_function(repeated).size(), most / 2);
  const auto dropping = [](const InputContext&) { return range(3).batch(2, true).repeat(most - 1); };
  EXPECT_EQ(mirrored(2).distribute_from_function(dropping, each_replica).dropped_rows(), most);
}

TEST(DistributeFromFunction, WithoutAnEndHasNoSize) {
  EXPECT_EQ(mirrored(2).distribute_from_function([](const InputContext&) { return range(4).batch(2).repeat(); }).size(),
            std::nullopt);
}

TEST(DistributeFromFunction, RefusesWhatItCannotDeal) {
  const MirroredStrategy strategy = mirrored(2);
  EXPECT_ERROR(InvalidArgument, "needs a function", strategy.distribute_from_function(nullptr));
  EXPECT_ERROR(InvalidArgument, "per_replica_buffer_size must not be negative, got -1",
               strategy.distribute_from_function([](const InputContext&) { return range(4).batch(2); },
                                                 {.per_replica_buffer_size = -1}));
  EXPECT_ERROR(InvalidArgument, "call batch()",
               steps_of(strategy.distribute_from_function([](const InputContext&) { return range(4); })));
  EXPECT_ERROR(InputError, "no file",
               strategy.distribute_from_function([](const InputContext&) -> Dataset { fail<InputError>("no file"); }));
}

TEST(DistributeFromFunction, RefusesStepsWithoutRows) {
  const auto of_sizes = [](const std::vector<std::int64_t>& sizes) {
    return mirrored(2).distribute_from_function(
        [sizes](const InputContext& context) {
          const Tensor rows = Tensor::zeros({sizes[static_cast<std::size_t>(context.input_pipeline_id)]});
          return range(1).map([rows](const Example&) { return Example{{rows}}; });
        },
        each_replica);
  };
  EXPECT_THAT(steps_of(of_sizes({0, 2})), ElementsAre(Parts{{}, {0, 0}}));
  DistributedIterator pass = of_sizes({0, 0}).epoch();
  EXPECT_ERROR(InvalidArgument, "a batch of the data set has no rows", pass.next());
}

}  // namespace
}  // namespace lockstep
