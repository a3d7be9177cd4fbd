#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Makes the replicas of this process wait while one thread works for all of them.
class MergePoint {
 public:
  /// For the replicas of `group`, which must outlive this.
  explicit MergePoint(ReplicaGroup& group) : group_(group), posts_(static_cast<std::size_t>(group.size())) {}

  /// A replica's arguments of a merge. Ownership is shared, because a replica that fails while replica 0 runs `merge`,
  /// e.g. with a Timeout, leaves without waiting for replica 0.
  using Post = std::shared_ptr<void>;
  /// Computes the result from the posts of all replicas, in replica order.
  using Merge = std::function<std::shared_ptr<const void>(std::span<const Post> posts)>;
  /// Waits for every replica; then replica 0's thread calls its `merge` in cross-replica context, and all replicas
  /// return the result. `place` names the merge and must be the same on every replica. Throws the errors of
  /// ReplicaGroup::barrier; an exception of `merge` is thrown on replica 0.
  std::shared_ptr<const void> merge(int replica, const std::string& place, Post post, const Merge& merge);
  /// Removes the posts and the result of a failed step. Precondition: no replica is running.
  void abandon_step();

 private:
  ReplicaGroup& group_;
  std::vector<Post> posts_;
  std::shared_ptr<const void> result_;
};

}  // namespace lockstep
