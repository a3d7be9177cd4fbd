#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/strategy/comm/communicator.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Base of communicators whose replicas share one address space: each replica posts its arguments, a barrier, each
/// compares all of them, then all of them combine what was posted.
class HostCommunicator : public Communicator {
 public:
  std::vector<Tensor> all_reduce(int replica, ReduceOp op, std::span<const Tensor> values) final;
  /// Nothing is added here, so there is one way: each replica copies all parts.
  std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) override;

 protected:
  /// For the replicas of `group`, which outlives this; `bytes_per_pack` as in CommunicationOptions.
  HostCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack);

  /// One pack of each replica and where it gets the result: dense, of one dtype and one number of elements.
  struct PackViews {
    std::vector<Tensor> in;   ///< by replica
    std::vector<Tensor> out;  ///< by replica
  };
  /// Whether kernels of a replica may read the memory of the others.
  virtual bool shares_memory() const { return true; }
  /// Called by every replica after the posts have been found to fit: out[r] = op over all in, for every r and pack. All
  /// reach a barrier after it.
  virtual void combine(int replica, ReduceOp op, std::span<const PackViews> packs) = 0;

  /// The barrier of the replicas.
  ReplicaGroup& group() const { return group_; }

 private:
  struct Post {  // what a replica brings
    ReduceOp op = ReduceOp::sum;
    int axis = 0;
    std::vector<Tensor> values{};
    std::vector<Tensor> packed{};   ///< the values by pack
    std::vector<Tensor> reduced{};  ///< the results by pack
  };
  /// Runs `check` of the posts. When it throws, all replicas reach a barrier before any posts again.
  void agree(int replica, const char* end, const std::function<void()>& check);
  void check_numbers(const char* what) const;
  void check_reduction() const;
  void check_gathering() const;
  /// "f32 (2) on CPU:0, f32 (3) on CPU:1": tensor i of each replica.
  std::string texts(std::size_t i) const;
  std::vector<PackViews> packs() const;

  ReplicaGroup& group_;
  std::int64_t bytes_per_pack_;
  std::vector<Post> posts_;  ///< by replica
};

}  // namespace lockstep
