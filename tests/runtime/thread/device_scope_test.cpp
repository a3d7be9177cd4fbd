#include <string>

#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/runtime/thread/device_scope.h>

namespace lockstep {
namespace {

TEST(DeviceScope, SaysWhereTensorsAreMade) {
  {
    const DeviceScope scope("/device:CPU:3");
    EXPECT_TRUE(current_context().placed);
    EXPECT_EQ(Tensor::zeros({2}).device().name(), "CPU:3");
  }
  EXPECT_FALSE(current_context().placed);
  EXPECT_EQ(Tensor::zeros({2}).device().name(), "CPU:0");
}

TEST(DeviceScope, TheInnermostDecides) {
  const DeviceScope outer("CPU:1");
  EXPECT_EQ(with_device("CPU:2", [] { return current_context().device.name(); }), "CPU:2");
  EXPECT_EQ(current_context().device.name(), "CPU:1");
}

TEST(DeviceScope, EndsWithAnException) {
  const auto thrower = []() -> int { fail("no"); };
  EXPECT_THROW(with_device("CPU:2", thrower), InvalidArgument);
  EXPECT_EQ(current_context().device.name(), "CPU:0");
}

TEST(DeviceScope, KeepsTheReplica) {
  const ContextScope replica({.device = {DeviceKind::cpu, 1, 1}, .replica = 1, .replicas = 2});
  const DeviceScope scope("CPU:5");
  EXPECT_EQ(current_context().replica, 1);
  EXPECT_EQ(current_context().replicas, 2);
}

TEST(DeviceScope, UsesTheDevicesThreadsButNoMoreThanTheCallers) {
  const ComputeThreadsScope three(3);
  with_device(LogicalDevice{.kind = DeviceKind::cpu, .index = 1, .cores = 2}, [] { EXPECT_EQ(compute_threads(), 2); });
  with_device(LogicalDevice{.kind = DeviceKind::cpu, .index = 1, .cores = 8}, [] { EXPECT_EQ(compute_threads(), 3); });
  EXPECT_EQ(compute_threads(), 3);
}

TEST(DeviceScope, RefusesDevicesThatDoNotExist) {
  EXPECT_THROW(DeviceScope("CPU:64"), InvalidArgument);
  EXPECT_THROW(DeviceScope("somewhere"), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
