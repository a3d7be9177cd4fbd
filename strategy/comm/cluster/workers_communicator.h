#pragma once

#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/cluster/worker_gather.h>
#include <lockstep/strategy/comm/local/host_communicator.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Combines values of replicas on CPUs in several processes (workers). In all_reduce, each replica reduces one shard of
/// the values of its worker's replicas in shared memory; then replica 0 of each worker reduces the workers' results;
/// finally, each replica copies the result. Sums and means are added in replica order within a worker, then in worker
/// order. all_gather joins the values of each worker's replicas, then the workers' results.
class WorkersCommunicator final : public HostCommunicator {
 public:
  /// For the replicas of `group` on this worker of `cluster`. Both must outlive this. For `bytes_per_pack` see
  /// CommunicationOptions.
  WorkersCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack, Cluster& cluster)
      : HostCommunicator(group, bytes_per_pack), cluster_(cluster), gather_(group, cluster) {}

  std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) override;

 private:
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
  /// Number of replicas of all workers, the divisor of a mean.
  std::int64_t replicas_in_sync() const { return std::int64_t{group().size()} * cluster_.size(); }

  Cluster& cluster_;
  std::vector<Tensor> sums_;  ///< reduced values, one tensor per pack; allocated by replica 0
  WorkerGather gather_;
};

}  // namespace lockstep
