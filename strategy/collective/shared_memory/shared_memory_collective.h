#pragma once

#include <lockstep/strategy/collective/host_collective.h>

namespace lockstep {

/// Nothing is sent: each replica reduces its share of the elements by reading every copy and writing every copy. Adds
/// in replica order: ((x0 + x1) + x2) + ...
class SharedMemoryCollective final : public HostCollective {
 public:
  /// For the replicas of `group`, which outlives this; `bytes_per_pack` as in CollectiveOptions.
  SharedMemoryCollective(ReplicaGroup& group, std::int64_t bytes_per_pack) : HostCollective(group, bytes_per_pack) {}

  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
};

}  // namespace lockstep
