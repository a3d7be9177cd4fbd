#include <thread>

#include <gtest/gtest.h>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {
namespace {

TEST(Context, IsTheWholeFirstCpuAtFirst) {
  std::jthread([] {
    EXPECT_EQ(current_context().device.name(), "CPU:0");
    EXPECT_EQ(current_context().device.cores, available_cores());
    EXPECT_FALSE(current_context().in_replica());
  });
}

TEST(Context, ScopesNest) {
  const ContextScope outer({.device = {DeviceKind::cpu, 1, 1}, .replica = 0, .replicas = 2});
  {
    const ContextScope inner({.device = {DeviceKind::cpu, 2, 1}, .replica = 1, .replicas = 2});
    EXPECT_EQ(current_context().device.name(), "CPU:2");
    EXPECT_EQ(current_context().replica, 1);
  }
  EXPECT_EQ(current_context().device.name(), "CPU:1");
  EXPECT_TRUE(current_context().in_replica());
}

TEST(Context, BelongsToItsThread) {
  const ContextScope scope({.device = {DeviceKind::cpu, 3, 1}, .replica = 1});
  std::jthread([] { EXPECT_FALSE(current_context().in_replica()); });
}

TEST(Context, SaysWhereTensorsAreAllocated) {
  const ContextScope scope({.device = {DeviceKind::cpu, 5, 1}});
  EXPECT_EQ(Tensor::zeros({2}).device().name(), "CPU:5");
}

}  // namespace
}  // namespace lockstep
