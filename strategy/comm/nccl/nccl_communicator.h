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

/// Combines values of replicas that have a physical GPU each with NCCL, one rank for each GPU. Values are added in the
/// order of NCCL's algorithm, the same on every call of one size.
class NcclCommunicator final : public HostCommunicator {
 public:
  /// For the replicas of `group`, which outlives this as the cluster does; `cluster` is null when all GPUs are in this
  /// process. `bytes_per_pack` as in CommunicationOptions.
  NcclCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack, const std::vector<LogicalDevice>& gpus,
                   std::shared_ptr<GpuCollectives> collectives, Cluster* cluster);
  std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) override;

 private:
  bool shares_memory() const override { return false; }
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
  /// Throws on all workers unless they all are about to combine such packs.
  void agree(int replica, ReduceOp op, std::span<const PackViews> packs);
  /// Of all workers.
  int replicas_in_sync() const { return group().size() * (cluster_ ? cluster_->size() : 1); }

  Cluster* cluster_;
  std::optional<WorkerGather> gather_{};
  std::shared_ptr<GpuCollectives> collectives_;
  GpuCollective collective_;  ///< of the call that is under way
};

/// What connects these GPUs, each a replica's, with those of other workers where there is a cluster. Throws Unsupported
/// for several replicas on one physical GPU, with CUDA_LAUNCH_BLOCKING, and in a build without CUDA; DeviceError when
/// the communicators cannot be made.
std::shared_ptr<GpuCollectives> connect_gpus(const std::vector<LogicalDevice>& gpus, std::chrono::milliseconds timeout,
                                             Cluster* cluster);

}  // namespace lockstep
