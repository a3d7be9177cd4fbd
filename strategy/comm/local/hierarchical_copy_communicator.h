#pragma once

#include <array>

#include <lockstep/strategy/comm/local/host_communicator.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Replicas [begin, begin + size): one of the two halves of all replicas.
struct HalfOfReplicas {
  int number = 0;  ///< 0 or 1
  int begin = 0;   ///< the first replica
  int size = 1;    ///< how many replicas
};
/// The half that contains `replica`. Of an odd number of replicas the first half has one more.
HalfOfReplicas half_of(int replica, int replicas);
/// 1 for a single replica, else 2.
inline int halves_of(int replicas) { return replicas > 1 ? 2 : 1; }

/// For machines whose replicas come in two groups that are near each other: the members of a group first add up its
/// values, each a share of the elements, then the two sums are combined and written to every replica. Of an odd number
/// the first group has one more; one replica is one group. Adds in replica order within a group, then across:
/// (x0 + x1 + ...) + (x_half + ...); bf16 in f32 from end to end.
class HierarchicalCopyCommunicator final : public HostCommunicator {
 public:
  /// For the replicas of `group`, which outlives this; `bytes_per_pack` as in CommunicationOptions.
  HierarchicalCopyCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack)
      : HostCommunicator(group, bytes_per_pack), wide_(static_cast<std::size_t>(group.size())) {}

 private:
  struct Wide {  // a replica's packs, those of bf16 in f32
    std::vector<Tensor> in;
    std::vector<Tensor> out;
  };
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
  void post_wide(int replica, std::span<const PackViews> packs);
  std::vector<PackViews> wide_packs() const;
  void add_within_group(int replica, ReduceOp op, std::span<const PackViews> packs);
  void combine_across(int replica, ReduceOp op, std::span<const PackViews> packs);

  std::vector<Wide> wide_;                   ///< by replica
  std::array<std::vector<Tensor>, 2> sums_;  ///< of each half by pack, kept until the next call
};

}  // namespace lockstep
