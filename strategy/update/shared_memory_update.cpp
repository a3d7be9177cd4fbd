#include "lockstep/strategy/update/shared_memory_update.h"

#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/places.h>

namespace lockstep {

void SharedMemoryUpdate::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                           const UpdateFn& update) {
  {
    const PhaseTimer timer(Phase::reduce);
    group_.meet(replica, gradients_place);
  }
  {
    const PhaseTimer timer(Phase::update);
    for (const FlatRange& range : ranges) update_range(update, views, shard_of(range, replica, group_.size()));
  }
  const PhaseTimer timer(Phase::reduce);
  group_.meet(replica, update_end);
}

}  // namespace lockstep
