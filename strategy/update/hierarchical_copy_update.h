#pragma once

#include <array>

#include <lockstep/strategy/comm/replica_group.h>
#include <lockstep/strategy/update/gradient_update.h>

namespace lockstep {

/// The update of HierarchicalCopyCommunicator: each half of the replicas adds up its gradients, then each replica
/// updates its share of all copies with the two sums.
class HierarchicalCopyUpdate final : public GradientUpdate {
 public:
  /// For the replicas of `group`, which outlives this.
  explicit HierarchicalCopyUpdate(ReplicaGroup& group) : group_(group) {}
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  void add_up_halves(int replica, const FlatViews& views, std::span<const FlatRange> ranges);

  ReplicaGroup& group_;
  std::array<Tensor, 2> sums_;  ///< of each half, made by its first replica and kept from step to step
};

}  // namespace lockstep
