#include "lockstep/strategy/core/merge_point.h"

#include <algorithm>
#include <utility>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/thread/wait_timer.h>

namespace lockstep {

std::shared_ptr<const void> MergePoint::merge(int replica, const std::string& place, Post post, const Merge& merge) {
  posts_[static_cast<std::size_t>(replica)] = std::move(post);
  group_.barrier(replica, place.c_str());
  if (replica == 0) {
    const WaitTimer for_all;  // the merge does not count as the replica's own work
    ExecutionContext cross_replica = current_context();
    cross_replica.replica = -1;
    cross_replica.replicas = 1;
    cross_replica.first_replica = 0;
    cross_replica.replicas_in_sync = 1;
    const ContextScope scope(cross_replica);
    result_ = merge(posts_);
  }
  const std::string end = "the end of " + place;
  group_.barrier(replica, end.c_str());
  posts_[static_cast<std::size_t>(replica)] = nullptr;
  return result_;  // is not overwritten before all replicas have reached the next merge
}

void MergePoint::abandon_step() {
  std::ranges::fill(posts_, nullptr);
  result_ = nullptr;
}

}  // namespace lockstep
