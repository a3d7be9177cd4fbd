#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Stops the replicas so that one thread can work for all of them.
class MergePoint {
 public:
  /// For the replicas of `group`, which outlives this.
  explicit MergePoint(ReplicaGroup& group) : group_(group), posts_(static_cast<std::size_t>(group.size())) {}

  /// A replica's arguments. Shared, since a replica that fails while replica 0 merges, also by its timeout, leaves
  /// without waiting for it.
  using Post = std::shared_ptr<void>;
  /// Computes the result from every replica's post, in replica order.
  using Merge = std::function<std::shared_ptr<const void>(std::span<const Post> posts)>;
  /// When every replica is here, calls replica 0's `merge`, on its thread and in cross-replica context, and gives the
  /// result to all of them. `place` names the merge, the same on every replica. Throws as Rendezvous does; an
  /// exception of `merge` leaves from replica 0.
  std::shared_ptr<const void> merge(int replica, const std::string& place, Post post, const Merge& merge);
  /// Removes the posts of a failed step. Precondition: no replica runs.
  void abandon_step();

 private:
  ReplicaGroup& group_;
  std::vector<Post> posts_;
  std::shared_ptr<const void> result_;
};

}  // namespace lockstep
