#include "lockstep/strategy/update/shared_memory_update.h"

#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/collective_names.h>

namespace lockstep {

void update_shares(ReplicaGroup& group, int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                   const UpdateFn& update) {
  {
    const PhaseTimer timer(Phase::update);
    for (const FlatRange& range : ranges) update_range(update, views, shard_of(range, replica, group.size()));
  }
  const PhaseTimer timer(Phase::reduce);
  group.barrier(replica, update_end_name);
}

void SharedMemoryUpdate::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                           const UpdateFn& update) {
  {
    const PhaseTimer timer(Phase::reduce);
    group_.barrier(replica, views.name);
  }
  update_shares(group_, replica, views, ranges, update);
}

}  // namespace lockstep
