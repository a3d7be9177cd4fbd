#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/mirrored/mirrored_strategy.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(MirroredStrategy, RunsOnTwoLogicalCpusUnlessTold) {
  const MirroredStrategy strategy;
  EXPECT_EQ(strategy.devices(), logical_cpus(2));
}

TEST(MirroredStrategy, TakesDevicesByNameInTheirOrder) {
  const MirroredStrategy strategy(std::vector<std::string>{"CPU:2", "/device:CPU:0"});
  ASSERT_EQ(strategy.num_replicas_in_sync(), 2);
  EXPECT_EQ(strategy.devices()[0].name(), "CPU:2");
  EXPECT_EQ(strategy.devices()[1].name(), "CPU:0");
}

TEST(MirroredStrategy, CopiesOfAHandleAreTheSameStrategy) {
  const MirroredStrategy strategy;
  const Strategy same = strategy;
  EXPECT_EQ(same, strategy);
  EXPECT_FALSE(same == MirroredStrategy());
}

TEST(MirroredStrategy, RefusesDevicesItCannotUse) {
  EXPECT_THAT([] { MirroredStrategy(std::vector<LogicalDevice>{}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("at least one device")));
  const LogicalDevice cpu = logical_cpus(1).front();
  EXPECT_THAT(
      [&] {
        MirroredStrategy({cpu, cpu});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("CPU:0 is listed twice")));
  EXPECT_THROW(MirroredStrategy(std::vector<LogicalDevice>{{.kind = DeviceKind::gpu}}), Unsupported);
  EXPECT_THAT([&] { MirroredStrategy({cpu}, {.timeout = std::chrono::milliseconds(0)}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("timeout")));
}

TEST(MirroredStrategy, ManyComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    const MirroredStrategy strategy = test::mirrored(1 + i % 4);
    if (i % 2 == 0) strategy.run([] { get_replica_context().all_reduce(ReduceOp::sum, Tensor::full({3}, 1)); });
  }
}

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
