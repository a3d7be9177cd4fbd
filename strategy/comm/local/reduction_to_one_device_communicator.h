#pragma once

#include <lockstep/strategy/comm/local/host_communicator.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// The baseline for comparing the other algorithms. The first replica copies all values to its device and reduces them;
/// the others copy the result. Adds in replica order: ((x0 + x1) + x2) + ...
class ReductionToOneDeviceCommunicator final : public HostCommunicator {
 public:
  /// For the replicas of `group`, which must outlive this. For `bytes_per_pack` see CommunicationOptions.
  ReductionToOneDeviceCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack)
      : HostCommunicator(group, bytes_per_pack) {}

 private:
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
};

}  // namespace lockstep
