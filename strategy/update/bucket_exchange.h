#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include <lockstep/strategy/comm/nccl/gpu_collectives.h>

namespace lockstep {

/// Sums gradients across GPUs during backward. Submits ranges in ascending order, each once all replicas have added it
/// and its predecessors.
class BucketExchange {
 public:
  /// For one replica on each GPU. `collectives` must outlive this.
  BucketExchange(const std::vector<LogicalDevice>& gpus, GpuCollectives& collectives)
      : gpus_(gpus), collectives_(collectives), added_(gpus.size()) {}

  /// Calls GpuCollectives::wait_until_enqueued.
  ~BucketExchange() { collectives_.wait_until_enqueued(); }
  BucketExchange(const BucketExchange&) = delete;
  BucketExchange& operator=(const BucketExchange&) = delete;

  /// Adds the replica's part of range `range` of `ranges`. Call it on the replica's thread after enqueuing, in the
  /// compute stream, the work that computes the part. Throws the same errors as GpuCollectives::set_parts.
  void add(int replica, const GpuPart& part, std::size_t range, std::size_t ranges);
  /// Whether the replica has added a range in this step.
  bool has_begun(int replica) const;
  /// Whether any replica has added a range in this step.
  bool has_begun() const;
  /// Ends the replica's step. Later work in its compute stream waits for the sums. Precondition: all replicas have
  /// added all ranges. Throws the same errors as GpuCollectives::join.
  void join(int replica);
  /// Resets the exchange after a failed step. Precondition: no replica thread is running.
  void abandon();

 private:
  struct Range {
    GpuCollective collective;
    std::size_t replicas = 0;  ///< number of replicas that have added it
  };
  const std::vector<LogicalDevice> gpus_;
  GpuCollectives& collectives_;
  mutable std::mutex mutex_;        ///< protects the following members
  std::deque<Range> ranges_;        ///< kept from step to step; elements never move
  std::vector<std::size_t> added_;  ///< by replica: number of ranges added in this step
  std::size_t submitted_ = 0;       ///< number of ranges submitted in this step
};

}  // namespace lockstep
