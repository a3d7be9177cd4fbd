#pragma once

#include <lockstep/strategy/comm/local/host_communicator.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Each replica reduces one shard: it reads the shard from all replicas' memory and writes the result to all of them.
/// Adds in replica order: ((x0 + x1) + x2) + ...
class SharedMemoryCommunicator final : public HostCommunicator {
 public:
  /// For the replicas of `group`, which must outlive this. For `bytes_per_pack` see CommunicationOptions.
  SharedMemoryCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack)
      : HostCommunicator(group, bytes_per_pack) {}

 private:
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
};

}  // namespace lockstep
