#pragma once

#include <lockstep/strategy/comm/replica_group.h>
#include <lockstep/strategy/update/gradient_update.h>

namespace lockstep {

/// Applies `update` to the replica's shard of every range, in all copies, with the gradients of `views`. For replicas
/// that can access each other's memory. All replicas must call it, after a barrier that makes all gradients final. Ends
/// with ReplicaGroup::barrier: the updates of all replicas precede the later work of every replica, but on GPUs the
/// updates may still run when this returns.
void update_shares(ReplicaGroup& group, int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                   const UpdateFn& update);

/// Each replica reads its shard of all gradients and updates that shard of all copies, in one pass over the memory.
/// Adds in replica order: ((g0 + g1) + g2) + ...
class SharedMemoryUpdate final : public GradientUpdate {
 public:
  /// For the replicas of `group`, which must outlive this.
  explicit SharedMemoryUpdate(ReplicaGroup& group) : group_(group) {}
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  ReplicaGroup& group_;
};

}  // namespace lockstep
