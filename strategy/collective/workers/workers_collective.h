#pragma once

#include <lockstep/strategy/collective/host_collective.h>
#include <lockstep/strategy/collective/workers/gradient_exchange.h>
#include <lockstep/strategy/collective/workers/worker_gather.h>

namespace lockstep {

/// For replicas in several processes: those of a worker first add up their values in shared memory, each a share of the
/// elements; then the worker's first replica combines the sums with those of the other workers, and all take over what
/// came of it. Gradients are exchanged beside backward. Adds in replica order within a worker, then in worker order.
/// Replicas are on CPUs.
class WorkersCollective final : public HostCollective {
 public:
  /// For the replicas of `group` on this worker of `cluster`, which both outlive this; `bytes_per_pack` as in
  /// CollectiveOptions.
  WorkersCollective(ReplicaGroup& group, std::int64_t bytes_per_pack, Cluster& cluster)
      : HostCollective(group, bytes_per_pack),
        cluster_(cluster),
        gather_(group, cluster),
        exchange_(group.size(), cluster) {}

  std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) override;
  void gradients_final(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                       std::size_t range) override;
  void abandon_step() override;
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  /// Puts the sums of this worker's replicas into the first one's gradients, each replica its share.
  void add_up_own(int replica, const FlatViews& views, std::span<const FlatRange> ranges);
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
  /// What a mean divides by.
  std::int64_t replicas_in_sync() const { return std::int64_t{group().size()} * cluster_.size(); }

  Cluster& cluster_;
  std::vector<Tensor> sums_;  ///< of this worker's packs, made by its first replica
  WorkerGather gather_;
  GradientExchange exchange_;
};

}  // namespace lockstep
