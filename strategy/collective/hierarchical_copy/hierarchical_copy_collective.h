#pragma once

#include <array>

#include <lockstep/strategy/collective/host_collective.h>

namespace lockstep {

/// For machines whose replicas come in two groups that are near each other: the members of a group first add up its
/// values, each a share of the elements, then the two sums are combined and written to every replica. Of an odd number
/// the first group has one more; one replica is one group. Adds in replica order within a group, then across:
/// (x0 + x1 + ...) + (x_half + ...); bf16 in f32 from end to end.
class HierarchicalCopyCollective final : public HostCollective {
 public:
  /// For the replicas of `group`, which outlives this; `bytes_per_pack` as in CollectiveOptions.
  HierarchicalCopyCollective(ReplicaGroup& group, std::int64_t bytes_per_pack)
      : HostCollective(group, bytes_per_pack), wide_(static_cast<std::size_t>(group.size())) {}

  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  struct Members {  // replicas [begin, begin + size)
    int group = 0;
    int begin = 0;
    int size = 1;
  };
  struct Wide {  // a replica's packs, those of bf16 in f32
    std::vector<Tensor> in;
    std::vector<Tensor> out;
  };
  /// The group that a replica belongs to.
  Members group_of(int replica) const;
  int groups() const { return group().size() > 1 ? 2 : 1; }
  void combine(int replica, ReduceOp op, std::span<const PackViews> packs) override;
  void post_wide(int replica, std::span<const PackViews> packs);
  std::vector<PackViews> wide_packs() const;
  void add_within_group(int replica, ReduceOp op, std::span<const PackViews> packs);
  void combine_across(int replica, ReduceOp op, std::span<const PackViews> packs);
  void add_gradients_within_group(int replica, const FlatViews& views, std::span<const FlatRange> ranges);

  std::vector<Wide> wide_;  ///< by replica
  // Of each group, made by its first replica.
  std::array<std::vector<Tensor>, 2> sums_;  ///< by pack, kept until the next call
  std::array<Tensor, 2> gradient_sums_;      ///< kept from step to step
};

}  // namespace lockstep
