#pragma once

#include <lockstep/strategy/comm/replica_group.h>
#include <lockstep/strategy/update/gradient_update.h>

namespace lockstep {

/// The update for ReductionToOneDeviceCommunicator: the first replica copies all gradients to its device and updates
/// its parameters, which the other replicas then copy. Adds in replica order: ((g0 + g1) + g2) + ...
class OneDeviceUpdate final : public GradientUpdate {
 public:
  /// For the replicas of `group`, which must outlive this.
  explicit OneDeviceUpdate(ReplicaGroup& group) : group_(group) {}
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  ReplicaGroup& group_;
};

}  // namespace lockstep
