#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include <lockstep/runtime/device/stream.h>
#include <lockstep/strategy/collective/collective.h>
#include <lockstep/strategy/collective/nccl/gpu_communicators.h>

namespace lockstep {

/// Sums the gradients of GPUs in their communication streams while backward goes on: range by range, in their order. A
/// range is enqueued for all replicas of this process at once, by the last one to come with it: the order is the same
/// on all GPUs, also against that of other collectives, and no GPU waits for a part that depends on what a host thread
/// does next, which might be to wait for that GPU, or to fail.
class BucketExchange {
 public:
  /// For a replica on each GPU; `communicators` outlive this.
  BucketExchange(const std::vector<LogicalDevice>& gpus, GpuCommunicators& communicators);

  /// A replica's part of range number `range`, of `ranges`, is final once its GPU has computed what it has been given.
  /// The first one of a step begins it.
  void add(int replica, const GpuPart& part, std::size_t range, std::size_t ranges);
  /// Whether a step has begun: true for each replica until it joins.
  bool begun() const;
  /// How many ranges of the step have been enqueued.
  std::size_t enqueued() const;
  /// What the replica's GPU computes from now on comes after the sums of the step, which ends when all replicas have
  /// joined. False when none has begun. Precondition: all replicas have come with all ranges, or none.
  bool join(int replica);
  /// Ends a step that has failed. Precondition: all replicas have ended.
  void abandon();

 private:
  /// Of one replica.
  struct Member {
    LogicalDevice gpu;
    Event summed;                  ///< after the sums of all ranges
    std::vector<GpuPart> parts{};  ///< by range
    std::vector<Event> final{};    ///< by range: after the gradients
  };
  void begin(std::size_t ranges);
  void enqueue(std::size_t range);

  GpuCommunicators& communicators_;
  mutable std::mutex mutex_;  ///< of what follows
  std::vector<Member> members_;
  std::vector<GpuPart> parts_;     ///< kept for its memory
  std::vector<std::size_t> came_;  ///< by range: replicas
  std::size_t enqueued_ = 0;       ///< ranges
  std::size_t joined_ = 0;         ///< replicas
  bool begun_ = false;
};

}  // namespace lockstep
