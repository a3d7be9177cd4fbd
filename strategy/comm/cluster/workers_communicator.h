#pragma once

#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/cluster/worker_gather.h>
#include <lockstep/strategy/comm/local/host_communicator.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// For replicas in several processes: those of a worker first add up their values in shared memory, each a share of the
/// elements; then the worker's first replica combines the sums with those of the other workers, and all take over the
/// results. Adds in replica order within a worker, then in worker order.
/// Replicas are on CPUs.
class WorkersCommunicator final : public HostCommunicator {
 public:
  /// For the replicas of `group` on this worker of `cluster`, which both outlive this; `bytes_per_pack` as in
  /// CommunicationOptions.
  WorkersCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack, Cluster& cluster)
      : HostCommunicator(group, bytes_per_pack), cluster_(cluster), gather_(group, cluster) {}

  std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) override;

 private:
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
  /// What a mean divides by.
  std::int64_t replicas_in_sync() const { return std::int64_t{group().size()} * cluster_.size(); }

  Cluster& cluster_;
  std::vector<Tensor> sums_;  ///< of this worker's packs, made by its first replica
  WorkerGather gather_;
};

}  // namespace lockstep
