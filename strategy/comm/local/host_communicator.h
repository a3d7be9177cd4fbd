#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/strategy/comm/communicator.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {

/// Base of all communicators. Each replica of this process posts its arguments and reaches a barrier; then each replica
/// checks all posts, and all replicas combine the posted values.
class HostCommunicator : public Communicator {
 public:
  std::vector<Tensor> all_reduce(int replica, ReduceOp op, std::span<const Tensor> values) final;
  /// Each replica copies the parts of all replicas of this process.
  std::vector<Gathered> all_gather(int replica, std::span<const Tensor> values, int axis) override;

 protected:
  /// For the replicas of `group`, which must outlive this. For `bytes_per_pack` see CommunicationOptions.
  HostCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack);

  /// A pack of every replica and the memory for its results. All tensors are dense and have the same dtype and number
  /// of elements.
  struct PackViews {
    std::vector<Tensor> in;   ///< by replica
    std::vector<Tensor> out;  ///< by replica
  };
  /// Whether a replica's kernels may read the memory of the others.
  virtual bool shares_memory() const { return true; }
  /// Sets out[r] = op over all `in`, for every replica r and every pack. Called by every replica after all posts have
  /// been checked. A barrier of all replicas follows.
  virtual void combine(int replica, ReduceOp op, std::span<const PackViews> packs) = 0;

  /// The replicas.
  ReplicaGroup& group() const { return group_; }

 private:
  struct Post {  // a replica's arguments
    ReduceOp op = ReduceOp::sum;
    int axis = 0;
    std::vector<Tensor> values{};
    std::vector<Tensor> packed{};   ///< the values by pack
    std::vector<Tensor> reduced{};  ///< the results by pack
  };
  /// The values. A value is replaced by a copy if its memory is not accessible to the kernels of all replicas that read
  /// it.
  std::vector<Tensor> readable_by_all(std::span<const Tensor> values) const;
  /// Runs `check`, which throws on all replicas if their posts are inconsistent. If it throws, waits for a barrier of
  /// all replicas before rethrowing, so that no replica posts again before all have read the posts.
  void agree(int replica, const char* end, const std::function<void()>& check);
  void check_numbers(const char* what) const;
  void check_reduction() const;
  void check_gathering() const;
  /// Tensor i of each replica, for messages: "f32 (2) on CPU:0, f32 (3) on CPU:1".
  std::string texts(std::size_t i) const;
  std::vector<PackViews> packs() const;

  ReplicaGroup& group_;
  std::int64_t bytes_per_pack_;
  std::vector<Post> posts_;  ///< by replica
};

}  // namespace lockstep
