#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <lockstep/runtime/core/dtype.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/communicator.h>
#include <lockstep/strategy/comm/cross_device_ops.h>
#include <lockstep/strategy/comm/replica_group.h>
#include <lockstep/strategy/update/gradient_update.h>

namespace lockstep {

class GpuCollectives;

/// How replicas exchange data.
struct CommunicationOptions {
  CrossDeviceOps cross_device_ops = CrossDeviceOps::automatic;  ///< the algorithm
  /// Tensors that are combined in one call are copied together up to about this size, by dtype; 0: all into one.
  std::int64_t bytes_per_pack = 0;
  /// The dtype of exchanged gradients: f32, or bf16, which only nccl supports: half the bytes, at
  /// the price of rounding each replica's gradient and each partial sum. All replicas get the same bits.
  DType wire_dtype = DType::f32;
  std::shared_ptr<Cluster> cluster{};  ///< whose workers have the other replicas; null when there are none
};

/// The communication of a group of replicas.
struct Connections {
  std::unique_ptr<Communicator> communicator;  ///< combines values
  std::unique_ptr<GradientUpdate> update;      ///< from gradients to updated variables
  std::shared_ptr<GpuCollectives> gpus{};      ///< of replicas that use NCCL; else null
};

/// Connects replicas on these devices. `automatic` is nccl for several GPUs that are each on a physical GPU of its own,
/// else shared_memory. With other workers: nccl on GPUs, the workers' exchange on CPUs. `gpus`: for a group inside
/// merges of another group's runs, the other group's, since NCCL's kernels of two communicators on one GPU may run in
/// another order than on the next GPU, and wait for each other. Throws Unsupported when devices or build do not support
/// the algorithm or wire_dtype, InvalidArgument for a negative size.
Connections connect(ReplicaGroup& group, const std::vector<LogicalDevice>& devices,
                    const CommunicationOptions& options = {}, std::shared_ptr<GpuCollectives> gpus = {});

}  // namespace lockstep
