#pragma once

#include <lockstep/strategy/collective/host_collective.h>

namespace lockstep {

/// The baseline that the others are measured against: every value is copied to the first replica's device, which alone
/// combines them, and the result is copied back. Adds in replica order: ((x0 + x1) + x2) + ...
class ReductionToOneDeviceCollective final : public HostCollective {
 public:
  /// For the replicas of `group`, which outlives this; `bytes_per_pack` as in CollectiveOptions.
  ReductionToOneDeviceCollective(ReplicaGroup& group, std::int64_t bytes_per_pack)
      : HostCollective(group, bytes_per_pack) {}

  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
};

}  // namespace lockstep
