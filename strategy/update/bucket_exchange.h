#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include <lockstep/strategy/comm/nccl/gpu_collectives.h>

namespace lockstep {

/// Sums the gradients of GPUs while backward runs: range by range, in their order. A range is submitted once all
/// replicas have added it.
class BucketExchange {
 public:
  /// For a replica on each GPU; `collectives` outlive this.
  BucketExchange(const std::vector<LogicalDevice>& gpus, GpuCollectives& collectives)
      : gpus_(gpus), collectives_(collectives), added_(gpus.size()) {}

  /// Waits until what has been submitted is enqueued.
  ~BucketExchange() { collectives_.wait_until_enqueued(); }
  BucketExchange(const BucketExchange&) = delete;
  BucketExchange& operator=(const BucketExchange&) = delete;

  /// On the replica's thread: its part of range number `range`, of `ranges`, which the work in its GPU's compute stream
  /// so far computes.
  void add(int replica, const GpuPart& part, std::size_t range, std::size_t ranges);
  /// Whether the replica has added a range in this step.
  bool has_begun(int replica) const;
  /// Whether any replica has.
  bool has_begun() const;
  /// Ends the replica's step: its GPU computes what it is given from now on after the sums. Precondition: all replicas
  /// have added all ranges. Throws as GpuCollectives::join.
  void join(int replica);
  /// Ends a step that failed. Precondition: no replica runs.
  void abandon();

 private:
  struct Range {
    GpuCollective collective;
    std::size_t replicas = 0;  ///< that have added it
  };
  const std::vector<LogicalDevice> gpus_;
  GpuCollectives& collectives_;
  mutable std::mutex mutex_;        ///< of what follows
  std::deque<Range> ranges_;        ///< kept from step to step; never moved
  std::vector<std::size_t> added_;  ///< ranges of this step, by replica
  std::size_t submitted_ = 0;       ///< ranges of this step
};

}  // namespace lockstep
