#pragma once

#include <lockstep/strategy/comm/replica_group.h>
#include <lockstep/strategy/update/gradient_update.h>

namespace lockstep {

/// The update where replicas reach each other's memory: each applies `update` to its share of every range of all
/// copies, by the gradients of `views`. Returns when all have.
void update_shares(ReplicaGroup& group, int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                   const UpdateFn& update);

/// Each replica reads its share of all gradients and updates that share of all copies, in one pass over the memory.
/// Adds in replica order: ((g0 + g1) + g2) + ...
class SharedMemoryUpdate final : public GradientUpdate {
 public:
  /// For the replicas of `group`, which outlives this.
  explicit SharedMemoryUpdate(ReplicaGroup& group) : group_(group) {}
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  ReplicaGroup& group_;
};

}  // namespace lockstep
