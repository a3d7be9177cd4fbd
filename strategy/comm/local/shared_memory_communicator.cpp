#include "lockstep/strategy/comm/local/shared_memory_communicator.h"

#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {

void SharedMemoryCommunicator::combine(int replica, ReduceOp op, std::span<const PackViews> packs) {
  for (const PackViews& pack : packs)
    reduce_range(op, pack.in, pack.out, shard_of({0, pack.in.front().elements()}, replica, group().size()));
}

}  // namespace lockstep
