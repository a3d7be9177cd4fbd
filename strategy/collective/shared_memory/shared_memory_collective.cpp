#include "lockstep/strategy/collective/shared_memory/shared_memory_collective.h"

#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/collective/flat_range.h>
#include <lockstep/strategy/collective/places.h>

namespace lockstep {

void SharedMemoryCollective::combine(int replica, ReduceOp op, std::span<const PackViews> packs) {
  for (const PackViews& pack : packs)
    reduce_range(op, pack.in, pack.out, shard_of({0, pack.in.front().elements()}, replica, group().size()));
}

void SharedMemoryCollective::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                               const UpdateFn& update) {
  {
    const PhaseTimer timer(Phase::reduce);
    group().meet(replica, gradients_place);
  }
  {
    const PhaseTimer timer(Phase::update);
    for (const FlatRange& range : ranges) update_range(update, views, shard_of(range, replica, group().size()));
  }
  const PhaseTimer timer(Phase::reduce);
  group().meet(replica, "the end of the update");
}

}  // namespace lockstep
