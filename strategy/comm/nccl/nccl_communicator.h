#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/cluster/worker_gather.h>
#include <lockstep/strategy/comm/local/host_communicator.h>
#include <lockstep/strategy/comm/nccl/gpu_collectives.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Reduces values of replicas with NCCL, one rank for each GPU; gathers them by copies between the GPUs. Each replica
/// has a physical GPU of its own. Adds in the order of NCCL's algorithm. With enable_op_determinism, this order is the
/// same in every call with the same sizes.
class NcclCommunicator final : public HostCommunicator {
 public:
  /// For the replicas of `group`; `group` and `cluster` must outlive this. `cluster` is null when all GPUs are in this
  /// process. For `bytes_per_pack` see CommunicationOptions.
  NcclCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack, const std::vector<LogicalDevice>& gpus,
                   std::shared_ptr<GpuCollectives> collectives, Cluster* cluster);
  std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) override;

 private:
  bool shares_memory() const override { return false; }
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
  /// Throws InvalidArgument on all workers if they differ in op, in the dtypes or sizes of their packs, or in the
  /// number of collectives submitted before.
  void agree(int replica, ReduceOp op, std::span<const PackViews> packs);
  /// Number of replicas of all workers.
  int replicas_in_sync() const { return group().size() * (cluster_ ? cluster_->size() : 1); }

  Cluster* cluster_;
  std::optional<WorkerGather> gather_{};
  std::shared_ptr<GpuCollectives> collectives_;
  GpuCollective collective_;  ///< the collective of the current call
};

/// Connects `gpus`, one per replica, with each other and with the GPUs of the other workers if there is a cluster.
/// Throws Unsupported for several replicas on one physical GPU, when CUDA_LAUNCH_BLOCKING is set, and in a build
/// without CUDA. Throws the same errors as make_gpu_communicators when the GPUs cannot be connected.
std::shared_ptr<GpuCollectives> connect_gpus(const std::vector<LogicalDevice>& gpus, std::chrono::milliseconds timeout,
                                             Cluster* cluster);

}  // namespace lockstep
