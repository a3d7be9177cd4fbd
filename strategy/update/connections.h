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
  CrossDeviceOps cross_device_ops = CrossDeviceOps::automatic;  ///< the algorithm; ignored with a cluster
  /// Tensors of one dtype are packed, in their order, and reduced together; a pack is closed once it exceeds this many
  /// bytes. 0: no limit.
  std::int64_t bytes_per_pack = 0;
  /// The dtype of exchanged gradients: f32, or bf16, which only NCCL supports. bf16 halves the bytes but rounds each
  /// replica's gradient and each partial sum. All replicas get bit-identical sums in either case.
  DType wire_dtype = DType::f32;
  std::shared_ptr<Cluster> cluster{};  ///< connects the worker processes; null for a single process
};

/// The communication between the replicas of a group.
struct Connections {
  std::unique_ptr<Communicator> communicator;  ///< combines values of the replicas
  std::unique_ptr<GradientUpdate> update;      ///< sums the gradients over the replicas and updates the variables
  std::shared_ptr<GpuCollectives> gpus{};      ///< collectives of replicas that use NCCL; else null
};

/// Connects replicas on `devices`. `automatic` selects nccl for several logical GPUs on distinct physical GPUs if
/// replicas do not run sequentially; otherwise it selects shared_memory. With a cluster, GPUs always use NCCL and CPUs
/// always exchange through the cluster. `gpus`: a group that runs inside another group's merge_call passes the outer
/// group's collectives, since two communicators on the same GPUs could deadlock when their kernels start in different
/// orders. Throws Unsupported if the devices or the build do not support the algorithm or wire_dtype. Throws
/// InvalidArgument for a negative bytes_per_pack. Also throws the errors of connect_gpus (nccl_communicator.h).
Connections connect(ReplicaGroup& group, const std::vector<LogicalDevice>& devices,
                    const CommunicationOptions& options = {}, std::shared_ptr<GpuCollectives> gpus = {});

}  // namespace lockstep
