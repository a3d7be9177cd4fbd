#pragma once

#include <array>

#include <lockstep/strategy/comm/local/host_communicator.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Replicas [begin, begin + size), one of the two halves of all replicas.
struct HalfOfReplicas {
  int number = 0;  ///< 0 or 1
  int begin = 0;   ///< the first replica
  int size = 1;    ///< number of replicas
};
/// The half that contains `replica`. If the number of replicas is odd, the first half has one replica more.
HalfOfReplicas half_of(int replica, int replicas);
/// Number of halves: 1 for a single replica, else 2.
inline int halves_of(int replicas) { return replicas > 1 ? 2 : 1; }

/// For machines with two groups of devices that are connected faster within a group than between the groups. First, the
/// replicas of each half (see half_of) reduce the half's values, each replica one shard of the elements. Then each
/// replica combines one shard of the two results and writes it to every replica. Adds in replica order within a half,
/// then across: (x0 + x1 + ...) + (x_half + ...). Adds bf16 in f32 and rounds once.
class HierarchicalCopyCommunicator final : public HostCommunicator {
 public:
  /// For the replicas of `group`, which must outlive this. For `bytes_per_pack` see CommunicationOptions.
  HierarchicalCopyCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack)
      : HostCommunicator(group, bytes_per_pack), wide_(static_cast<std::size_t>(group.size())) {}

 private:
  struct Wide {  // a replica's packs; bf16 is widened to f32
    std::vector<Tensor> in;
    std::vector<Tensor> out;
  };
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
  void post_wide(int replica, std::span<const PackViews> packs);
  std::vector<PackViews> wide_packs() const;
  void add_within_group(int replica, ReduceOp op, std::span<const PackViews> packs);
  void combine_across(int replica, ReduceOp op, std::span<const PackViews> packs);

  std::vector<Wide> wide_;                   ///< by replica
  std::array<std::vector<Tensor>, 2> sums_;  ///< by half and pack; kept until the next call
};

}  // namespace lockstep
