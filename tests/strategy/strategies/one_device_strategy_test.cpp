#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/runtime/thread/parallel.h>
#include <lockstep/strategy/input/distributed_dataset.h>
#include <lockstep/strategy/strategies/one_device_strategy.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

// semantics 2.9, 10.1: R = 1, run executes inline on the device
TEST(OneDeviceStrategy, RunsOnTheCallingThreadAndTheDevice) {
  const OneDeviceStrategy strategy("CPU:1");
  EXPECT_EQ(strategy.num_replicas_in_sync(), 1);
  const auto caller = std::this_thread::get_id();
  strategy.run([&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(Tensor::zeros({1}).device().name(), "CPU:1");
    EXPECT_EQ(get_replica_context().replica_id_in_sync_group(), 0);
    EXPECT_EQ(get_strategy(), strategy);
  });
  EXPECT_FALSE(has_strategy());
}

// TF case 14. TensorFlow's results of one replica are bare values: here they are PerReplica, as for any number.
TEST(OneDeviceStrategy, FeedsResultsIntoTheNextRun) {
  const OneDeviceStrategy strategy("CPU:0");
  const auto four = strategy.run([] { return 4.0; });
  const auto pair = strategy.run([](double x) { return std::vector{2 * x, x * x}; }, four);
  EXPECT_EQ(pair[0], (std::vector{8.0, 16.0}));
  const auto sum = strategy.run([](const std::vector<double>& x) { return x[0] + 2 * x[1] + 2; }, pair);
  EXPECT_EQ(sum[0], 42);
}

TEST(OneDeviceStrategy, GivesStepsTheDevicesShareOfTheCores) {
  const OneDeviceStrategy strategy(LogicalDevice{DeviceKind::cpu, 0, 1});
  EXPECT_THAT(strategy.run([] { return compute_threads(); }).local_results(), ElementsAre(1));
}

// semantics 10.1: plain variables
TEST(OneDeviceStrategy, MakesPlainVariablesWhateverTheirSynchronization) {
  const OneDeviceStrategy strategy("CPU:0");
  const Variable v = strategy.scope([] {
    return Variable({.name = "v",
                     .shape = {},
                     .initializer = [](const Tensor& out) { copy(Tensor::zeros({}), out); },
                     .synchronization = Synchronization::on_read,
                     .aggregation = Aggregation::sum});
  });
  v.assign_add(1);
  strategy.run([&] { v.assign_add(Tensor::full({}, 2)); });
  EXPECT_EQ(v.value().item<float>(), 3);
}

// semantics 10.1: the identity
TEST(OneDeviceStrategy, CollectivesReduceAndGatherAreTheIdentity) {
  const OneDeviceStrategy strategy("CPU:0");
  const Tensor x = test::random_tensor({3, 2}, 1);
  const auto reduced = strategy.run([&] { return get_replica_context().all_reduce(ReduceOp::mean, x); });
  test::expect_same_bits(reduced[0], x);
  test::expect_same_bits(strategy.reduce(ReduceOp::sum, reduced), x);
  test::expect_same_bits(strategy.gather(reduced, 0), x);
}

// semantics 10.1: not split
TEST(OneDeviceStrategy, DoesNotSplitBatches) {
  const OneDeviceStrategy strategy("CPU:0");
  const DistributedBatch batch({{Tensor::zeros({7})}}, strategy.num_replicas_in_sync());
  EXPECT_THAT(strategy.run([](const Batch& own) { return own.x().dim(0); }, batch).local_results(), ElementsAre(7));
}

// semantics 10.1: TensorFlow refuses PER_REPLICA and gives bare values; programs need not care here
TEST(OneDeviceStrategy, TakesWhatIsMeantForSeveralReplicas) {
  const OneDeviceStrategy strategy("CPU:0");
  const auto rows = [](const InputContext& context) {
    EXPECT_EQ(context.text(), "input pipeline id 0, total: 1");
    return Dataset::from_tensors(Tensor::zeros({4})).batch(2);
  };
  EXPECT_EQ(strategy.distribute_from_function(rows, {.replication_mode = ReplicationMode::per_replica}).size(), 2);
  EXPECT_THAT(
      strategy.values_from_function([](const ValueContext& c) { return c.num_replicas_in_sync; }).local_results(),
      ElementsAre(1));
}

// semantics 2.13
TEST(OneDeviceStrategy, ACloneIsAnotherStrategyOnItsDevice) {
  const OneDeviceStrategy strategy("CPU:3");
  const Strategy clone = strategy.clone();
  EXPECT_FALSE(clone == strategy);
  EXPECT_EQ(clone.devices(), strategy.devices());
  clone.run([] { EXPECT_EQ(Tensor::zeros({1}).device().name(), "CPU:3"); });
}

// semantics 10.1: merge_call direct
TEST(OneDeviceStrategy, MergesAndRunsInsideAMerge) {
  const OneDeviceStrategy strategy("CPU:0");
  const auto results = strategy.run([] {
    return get_replica_context().merge_call([](const Strategy& same) { return same.run([] { return 5; })[0]; });
  });
  EXPECT_THAT(results.local_results(), ElementsAre(5));
}

TEST(OneDeviceStrategy, ErrorsNameTheReplica) {
  EXPECT_ERROR(InvalidArgument, "replica 0 (CPU:0): mine", OneDeviceStrategy("CPU:0").run([] { fail("mine"); }));
  EXPECT_FALSE(has_strategy());
}

}  // namespace
}  // namespace lockstep
