#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/core/distributed_variable.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// semantics 2.1: a bare string, which TensorFlow takes for a list of letters, and numbers, which say no kind of device
static_assert(!std::is_constructible_v<MirroredStrategy, std::string>);
static_assert(!std::is_constructible_v<MirroredStrategy, const char*>);
static_assert(!std::is_constructible_v<MirroredStrategy, std::vector<int>>);

// semantics 2.1: without devices, those of the machine, where the port has logical CPUs
TEST(MirroredStrategy, RunsOnTwoLogicalCpusUnlessTold) {
  const MirroredStrategy strategy;
  EXPECT_EQ(strategy.devices(), default_devices());
  if (!why_no_gpu().empty()) {
    EXPECT_EQ(strategy.devices(), logical_cpus(2));
  }
}

// semantics 2.1: names are made canonical; replica order = list order
TEST(MirroredStrategy, TakesDevicesByNameInTheirOrder) {
  const MirroredStrategy strategy(std::vector<std::string>{"CPU:2", "/device:CPU:0"});
  ASSERT_EQ(strategy.num_replicas_in_sync(), 2);
  EXPECT_EQ(strategy.devices()[0].name(), "CPU:2");
  EXPECT_EQ(strategy.devices()[1].name(), "CPU:0");
}

// semantics 2.13: a shallow copy is an error in TensorFlow; a handle's copy is the same strategy
TEST(MirroredStrategy, CopiesOfAHandleAreTheSameStrategy) {
  const MirroredStrategy strategy;
  const Strategy same = strategy;
  EXPECT_EQ(same, strategy);
  EXPECT_FALSE(same == MirroredStrategy());
}

// semantics 2.13: a deep copy gives a new strategy
// TF case 77: testDeepCopy, of the strategy (variable_test has the variable's)
TEST(MirroredStrategy, ACloneIsAnotherStrategyOfTheSameDevicesAndOptions) {
  const MirroredStrategy strategy(logical_cpus(3), {.timeout = std::chrono::minutes(4), .sequential = true});
  const Variable v = strategy.scope([] { return test::variable_of("v", Tensor::full({}, 1)); });
  const Strategy clone = strategy.clone();
  EXPECT_FALSE(clone == strategy);
  EXPECT_EQ(clone.devices(), strategy.devices());
  std::vector<int> order;  // needs no lock: the clone is sequential, too
  clone.run([&] { order.push_back(test::this_replica()); });
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
  const auto inside = clone.scope();
  EXPECT_EQ(test::variable_of("own", Tensor::zeros({})).state().copies().size(), 3U);
  EXPECT_ERROR(LogicError, "mixing different strategies", v.assign(2));
}

// semantics 2.1: existence is checked now; 12.1: no device; 12.2: a duplicate; 15.6
TEST(MirroredStrategy, RefusesDevicesItCannotUse) {
  EXPECT_THAT([] { MirroredStrategy(std::vector<LogicalDevice>{}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("at least one device")));
  const LogicalDevice cpu = logical_cpus(1).front();
  EXPECT_THAT(
      [&] {
        MirroredStrategy({cpu, cpu});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("CPU:0 is listed twice")));
  if (!why_no_gpu().empty()) {
    EXPECT_ERROR(Unsupported, why_no_gpu(), MirroredStrategy(std::vector<LogicalDevice>{{.kind = DeviceKind::gpu}}));
  }
  EXPECT_ERROR(InvalidArgument, "at least one device", MirroredStrategy(std::vector<std::string>{}));
  EXPECT_ERROR(InvalidArgument, "CPU:0 is named twice in [CPU:0, /device:CPU:0]",
               MirroredStrategy({"CPU:0", "/device:CPU:0"}));
  EXPECT_ERROR(InvalidArgument, "CPU:64 does not exist", MirroredStrategy({"CPU:0", "CPU:64"}));
  EXPECT_THAT([&] { MirroredStrategy({cpu}, {.timeout = std::chrono::milliseconds(0)}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("timeout")));
}

// semantics 12.3: text that names no device; 12.4, 12.5: devices of workers, which belong to a multi-worker strategy
TEST(MirroredStrategy, RefusesNamesThatAreNoDevicesOfThisMachine) {
  for (const char* name : {"TPU:0", "CPU", "CPU:x", "/job:worker/task:0/device:CPU:0", "/job:worker/device:CPU:0",
                           "/job:localhost/device:CPU:0"})
    EXPECT_ERROR(InvalidArgument, fmt::format("'{}' names no device; write for example CPU:0", name),
                 MirroredStrategy({"CPU:0", name}));
}

// semantics 10.2: with one device everything is as with several: variables mirrored, results PerReplica
TEST(MirroredStrategy, OfOneDeviceHasTheSameSurface) {
  const MirroredStrategy strategy({"CPU:0"});
  const Variable v = strategy.scope([] { return test::variable_of("v", Tensor::full({}, 2)); });
  EXPECT_NE(dynamic_cast<const MirroredVariable*>(&v.state()), nullptr);
  const auto results = strategy.run([&] { return v.value(); });
  EXPECT_EQ(results.size(), 1);
  EXPECT_EQ(strategy.reduce("sum", results).item<float>(), 2);
  EXPECT_EQ(strategy.values_from_function([](const ValueContext&) { return 5; }).size(), 1);
}

// semantics 2.2: TensorFlow's communicators collide
TEST(MirroredStrategy, ManyComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    const MirroredStrategy strategy = test::mirrored(1 + i % 4);
    if (i % 2 == 0) strategy.run([] { get_replica_context().all_reduce(ReduceOp::sum, Tensor::full({3}, 1)); });
  }
}

// semantics 2.2: several strategies in one process
TEST(MirroredStrategy, SeveralWorkSideBySide) {
  const MirroredStrategy two = test::mirrored(2);
  const MirroredStrategy three = test::mirrored(3);
  const auto sum_of_ones = [] { return get_replica_context().all_reduce(ReduceOp::sum, Tensor::full({}, 1)); };
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(two.run(sum_of_ones)[0].item<float>(), 2);
    EXPECT_EQ(three.run(sum_of_ones)[2].item<float>(), 3);
  }
}

}  // namespace
}  // namespace lockstep
