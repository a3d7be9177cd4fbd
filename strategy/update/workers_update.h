#pragma once

#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/replica_group.h>
#include <lockstep/strategy/update/gradient_exchange.h>
#include <lockstep/strategy/update/gradient_update.h>

namespace lockstep {

/// The update for WorkersCommunicator. The workers exchange gradients during backward if the replicas report them as
/// final (gradients_final), otherwise in reduce_and_update. Then each replica updates its shard of all copies of this
/// worker. Adds in replica order within a worker, then in worker order.
class WorkersUpdate final : public GradientUpdate {
 public:
  /// For the replicas of `group` on this worker of `cluster`. Both must outlive this.
  WorkersUpdate(ReplicaGroup& group, Cluster& cluster)
      : group_(group), cluster_(cluster), exchange_(group.size(), cluster) {}
  void gradients_final(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                       std::size_t range) override;
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;
  void abandon_step() override;

 private:
  /// Replaces the first replica's gradients by the sums over all replicas of all workers.
  void sum_gradients(int replica, const FlatViews& views, std::span<const FlatRange> ranges);

  ReplicaGroup& group_;
  Cluster& cluster_;
  GradientExchange exchange_;
};

}  // namespace lockstep
