#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/strategy/comm/local/hierarchical_copy_communicator.h>
#include <lockstep/strategy/comm/local/reduction_to_one_device_communicator.h>
#include <lockstep/strategy/comm/local/shared_memory_communicator.h>
#include <lockstep/strategy/update/connections.h>

#include "replicas_and_ops.h"

// Choosing cross-device ops, and TensorFlow's test cases with each of them.

namespace lockstep {
namespace {

using test::mirrored;
using testing::HasSubstr;

template <class Expected>
bool makes(CrossDeviceOps ops) {
  ReplicaGroup group(2, std::chrono::seconds(1));
  const Connections connections = connect(group, logical_cpus(2), {.cross_device_ops = ops});
  return dynamic_cast<const Expected*>(connections.communicator.get()) != nullptr;
}

TEST(CrossDeviceOps, AreWhatWasAskedFor) {
  // semantics 2.2, 7.3. TF case 51: testChooseAlgorithm. TensorFlow takes reduce-to-one when there is a CPU; replicas
  // that share memory have a faster way here, and reduce-to-one is chosen by name.
  EXPECT_TRUE(makes<SharedMemoryCommunicator>(CrossDeviceOps::automatic));
  EXPECT_TRUE(makes<SharedMemoryCommunicator>(CrossDeviceOps::shared_memory));
  EXPECT_TRUE(makes<HierarchicalCopyCommunicator>(CrossDeviceOps::hierarchical_copy));
  EXPECT_TRUE(makes<ReductionToOneDeviceCommunicator>(CrossDeviceOps::reduction_to_one_device));
}

TEST(CrossDeviceOps, ThatDevicesDoNotHaveAreUnsupported) {
  EXPECT_ERROR(Unsupported, "'nccl' combine the values of GPU replicas", mirrored(2, CrossDeviceOps::nccl));
  // semantics 7.3, 12.17: bytes_per_pack < 0 (there is no num_packs)
  EXPECT_ERROR(InvalidArgument, "got -1", mirrored(2, CrossDeviceOps::automatic, -1));
}

/// The error of connect for replicas on these devices.
std::string refusal(const std::vector<LogicalDevice>& devices, CrossDeviceOps ops) {
  ReplicaGroup group(devices, std::chrono::seconds(1));
  return test::error_of<Unsupported>([&] { (void)connect(group, devices, {.cross_device_ops = ops}); });
}

TEST(CrossDeviceOps, OfCpusAndGpusTogetherAreUnsupported) {
  EXPECT_THAT(refusal({{DeviceKind::cpu, 0}, {DeviceKind::gpu, 0}}, CrossDeviceOps::automatic),
              HasSubstr("all on GPUs or all on CPUs, got [CPU:0, GPU:0]"));
}

TEST(CrossDeviceOps, HaveNames) {
  for (const CrossDeviceOps ops : all_cross_device_ops) EXPECT_EQ(parse_cross_device_ops(name(ops)), ops);
  EXPECT_EQ(parse_cross_device_ops("Hierarchical-Copy"), CrossDeviceOps::hierarchical_copy);
  // semantics 7.3, 12.17: unknown implementation
  EXPECT_ERROR(InvalidArgument,
               "'ring' names no cross-device ops; choose one of auto, shared-memory, nccl, hierarchical-copy, "
               "reduction-to-one-device",
               parse_cross_device_ops("ring"));
}

class CrossDeviceOpsOf : public testing::TestWithParam<CrossDeviceOps> {
 protected:
  /// all_reduce of the replicas' values; the result must be the same on all replicas.
  std::vector<float> reduced(ReduceOp op, const std::vector<std::vector<float>>& values,
                             std::int64_t bytes_per_pack = 0) const {
    const auto arguments = test::per_replica(static_cast<int>(values.size()), [&](int replica) {
      const std::vector<float>& own = values[static_cast<std::size_t>(replica)];
      return Tensor::from(own, {static_cast<std::int64_t>(own.size())});
    });
    const auto results =
        mirrored(arguments.size(), GetParam(), bytes_per_pack)
            .run([&](const Tensor& own) { return get_replica_context().all_reduce(op, own); }, arguments);
    for (const Tensor& other : results.local_results()) test::expect_same_bits(other, results[0]);
    return results[0].to_vector<float>();
  }
};

TEST_P(CrossDeviceOpsOf, ReduceDense) {
  // TF case 41: testReduceDense
  using testing::ElementsAre;
  EXPECT_THAT(reduced(ReduceOp::sum, {{1}}), ElementsAre(1));
  EXPECT_THAT(reduced(ReduceOp::sum, {{1}, {2}}), ElementsAre(3));
  EXPECT_THAT(reduced(ReduceOp::sum, {{1}, {2}, {3}, {4}}), ElementsAre(10));
  EXPECT_THAT(reduced(ReduceOp::mean, {{1}}), ElementsAre(1));
  EXPECT_THAT(reduced(ReduceOp::mean, {{1}, {2}}), ElementsAre(1.5F));
  EXPECT_THAT(reduced(ReduceOp::mean, {{1}, {2}, {3}, {4}}), ElementsAre(2.5F));
}

TEST_P(CrossDeviceOpsOf, OddNumbersOfDevicesLoseNothing) {
  // semantics 7.2, Probe P5: HierarchicalCopy of 1, 2, 3 gives 3 in TensorFlow, which drops a device; right is 6.
  EXPECT_THAT(reduced(ReduceOp::sum, {{1}, {2}, {3}}), testing::ElementsAre(6));
}

TEST_P(CrossDeviceOpsOf, ReduceAndBatchReduceOfOneToThreeDevices) {
  // TF case 40: testReductionAndBroadcast, the values d and d + 1 of device d, with several sizes of packs; every
  // device gets the result (core/extended_test has the destinations)
  for (const int devices : {1, 2, 3})
    for (const std::int64_t bytes_per_pack : {0, 1, 8}) {
      const MirroredStrategy strategy = mirrored(devices, GetParam(), bytes_per_pack);
      for (const ReduceOp op : {ReduceOp::mean, ReduceOp::sum}) {
        const auto results = strategy.run([op] {
          const int d = test::this_replica();
          return get_replica_context().all_reduce(op, std::vector{Tensor::full({}, d), Tensor::full({}, d + 1)});
        });
        const double mean = (devices - 1) / 2.0;
        const double factor = op == ReduceOp::sum ? devices : 1;
        for (const std::vector<Tensor>& own : results.local_results()) {
          test::expect_close(own[0], {mean * factor}, devices, devices * devices);
          test::expect_close(own[1], {(mean + 1) * factor}, devices, devices * devices);
        }
      }
    }
}

TEST_P(CrossDeviceOpsOf, BatchReduceDense) {
  // TF case 45: testBatchReduceDense
  for (const int devices : {2, 4})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
      const auto results = mirrored(devices, GetParam()).run([op] {
        const float r = static_cast<float>(test::this_replica());
        return get_replica_context().all_reduce(op, std::vector{Tensor::scalar(1 + 2 * r), Tensor::scalar(2 + 2 * r)});
      });
      const float sums[] = {devices == 2 ? 4.0F : 16.0F, devices == 2 ? 6.0F : 20.0F};
      const float divisor = op == ReduceOp::mean ? static_cast<float>(devices) : 1.0F;
      for (const auto& own : results.local_results())
        for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(own[i].item<float>(), sums[i] / divisor);
    }
}

TEST_P(CrossDeviceOpsOf, ReduceInEitherBranchOfACondition) {
  // semantics 3.7, 15.4. TF case 53: testCollectiveV2ControlFlow
  const MirroredStrategy strategy = mirrored(2, GetParam());
  for (const bool taken : {true, false}) {
    const auto results = strategy.run([taken] {
      const ReplicaContext context = get_replica_context();
      const Tensor one = Tensor::full({1}, 1);
      return taken ? context.all_reduce("SUM", one) : context.all_reduce("SUM", one);
    });
    for (const Tensor& own : results.local_results()) EXPECT_EQ(own.item<float>(), 2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CrossDeviceOpsOf, testing::ValuesIn(test::host_cross_device_ops));

}  // namespace
}  // namespace lockstep
