#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/pretend_gpu/pretend_cuda.h>

#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/comm/local/shared_memory_communicator.h>
#include <lockstep/strategy/update/connections.h>

// Connections of replicas on GPUs. For CPUs: comm/cross_device_ops_test.cpp.

namespace lockstep {
namespace {

using testing::HasSubstr;

constexpr int gpus = 8;

/// The error of connect for that many replicas.
std::string refusal(int replicas, CrossDeviceOps ops) {
  const std::vector<LogicalDevice> devices = logical_gpus(replicas);
  ReplicaGroup group(devices, std::chrono::seconds(1));
  return test::error_of<Unsupported>([&] { (void)connect(group, devices, {.cross_device_ops = ops}); });
}

TEST(Connections, OfGpusDependOnWhetherTheyReachEachOther) {
  std::vector<std::vector<int>> peers(gpus);
  peers[0] = {1};
  peers[1] = {0};
  test::pretend_cuda()->set_peers(peers);
  EXPECT_THAT(refusal(3, CrossDeviceOps::shared_memory), HasSubstr("GPU:0 cannot access that of GPU:2"));
  EXPECT_THAT(refusal(3, CrossDeviceOps::hierarchical_copy), HasSubstr("use nccl"));
  for (const int replicas : {1, 2}) {
    ReplicaGroup group(logical_gpus(replicas), std::chrono::seconds(1));
    EXPECT_NO_THROW(connect(group, logical_gpus(replicas), {.cross_device_ops = CrossDeviceOps::shared_memory}));
  }
  test::pretend_cuda()->set_peers({});
}

TEST(Connections, OfReplicasThatShareAGpuAreNotNccls) {
  ReplicaGroup group(logical_gpus(gpus + 1), std::chrono::seconds(1));
  const Connections automatic = connect(group, logical_gpus(gpus + 1));
  EXPECT_NE(dynamic_cast<const SharedMemoryCommunicator*>(automatic.communicator.get()), nullptr);
  EXPECT_THAT(refusal(gpus + 1, CrossDeviceOps::nccl), HasSubstr("a physical GPU for each replica"));
}

}  // namespace
}  // namespace lockstep
