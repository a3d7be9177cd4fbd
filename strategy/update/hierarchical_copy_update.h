#pragma once

#include <array>

#include <lockstep/strategy/comm/replica_group.h>
#include <lockstep/strategy/update/gradient_update.h>

namespace lockstep {

/// The update for HierarchicalCopyCommunicator: each half of the replicas adds up its gradients; then each replica
/// updates its shard of all copies with the two sums.
class HierarchicalCopyUpdate final : public GradientUpdate {
 public:
  /// For the replicas of `group`, which must outlive this.
  explicit HierarchicalCopyUpdate(ReplicaGroup& group) : group_(group) {}
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  void add_up_halves(int replica, const FlatViews& views, std::span<const FlatRange> ranges);

  ReplicaGroup& group_;
  std::array<Tensor, 2> sums_;  ///< by half; allocated by its first replica and reused in each step
};

}  // namespace lockstep
