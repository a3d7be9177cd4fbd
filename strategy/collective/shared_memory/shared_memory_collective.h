#pragma once

#include <string>
#include <vector>

#include <lockstep/strategy/collective/collective.h>

namespace lockstep {

/// For replicas that share one address space. Nothing is packed or sent: each replica reduces its share of the elements
/// by reading every copy and writing every copy.
class SharedMemoryCollective final : public Collective {
 public:
  explicit SharedMemoryCollective(ReplicaGroup& group);

  Tensor all_reduce(int replica, ReduceOp op, const Tensor& value) override;
  void reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                         const UpdateFn& update) override;

 private:
  struct Post {  // what a replica brings to an all_reduce
    ReduceOp op = ReduceOp::sum;
    Tensor value;
    Tensor result;
  };
  /// Why the posts cannot be combined; empty when they can.
  std::string disagreement() const;

  ReplicaGroup& group_;
  std::vector<Post> posts_;
};

/// Replica `replica`'s share of a range: consecutive, on cache-line borders, together the whole range.
FlatRange shard_of(const FlatRange& range, int replica, int replicas);

}  // namespace lockstep
