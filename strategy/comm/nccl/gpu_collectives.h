#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include <lockstep/runtime/device/stream.h>
#include <lockstep/strategy/comm/nccl/gpu_communicators.h>

namespace lockstep {

/// The parts of one collective, which the replicas of this process set one by one. May be used again after it has run.
class GpuCollective {
 public:
  /// For a replica on each GPU.
  explicit GpuCollective(const std::vector<LogicalDevice>& gpus);

 private:
  friend class GpuCollectives;
  std::vector<std::vector<GpuPart>> parts_;  ///< by replica
  std::vector<Event> computed_;              ///< by replica
};

/// Enqueues the collectives of all GPUs of this process on one thread, each as one group, in the communication streams:
/// their order is the same on all GPUs, and no replica's thread is held up by NCCL. A collective is submitted when all
/// replicas have set their parts, so that no GPU waits for a part that depends on what a host thread does next.
class GpuCollectives {
 public:
  /// `communicators` are those of `gpus`, with the same `timeout`. Throws as Event's constructor.
  GpuCollectives(const std::vector<LogicalDevice>& gpus, std::unique_ptr<GpuCommunicators> communicators,
                 std::chrono::milliseconds timeout);
  /// Enqueues what has been submitted.
  ~GpuCollectives();
  GpuCollectives(const GpuCollectives&) = delete;
  GpuCollectives& operator=(const GpuCollectives&) = delete;

  /// On the replica's thread: its parts of a collective, which the work in its GPU's compute stream so far computes.
  /// Throws DeviceError after a failed step that left NCCL in an unfinished call.
  void set_parts(GpuCollective& collective, int replica, std::span<const GpuPart> parts);
  /// On one replica's thread: submits a collective, which stays as it is until all replicas have joined. `what` names
  /// it in errors. Does not wait.
  void submit(const char* what, const GpuCollective& collective);
  /// How many collectives have been submitted.
  std::size_t submitted() const;
  /// On the replica's thread: its GPU computes what it is given from now on after all collectives submitted so far. The
  /// host waits until they have been enqueued. The first replica to join throws what enqueuing threw: DeviceError,
  /// Timeout, BrokenInvariant for memory against the contracts. Throws Timeout where enqueuing does not end.
  void join(int replica);
  /// Waits until all that has been submitted is enqueued.
  void wait_until_enqueued();
  /// Drops the error of a step that failed, once what it submitted is enqueued. Precondition: no replica runs.
  void abandon_step();

 private:
  struct Submission {
    const char* what;
    const GpuCollective* collective;
  };
  /// Waits for longer than the communicators may take to fail. False when the collectives are still not enqueued.
  bool try_wait(std::unique_lock<std::mutex>& lock);
  void serve(const std::stop_token& stop);
  void enqueue(const Submission& submission);

  std::vector<LogicalDevice> gpus_;  ///< by replica
  std::unique_ptr<GpuCommunicators> communicators_;
  std::chrono::milliseconds timeout_;
  std::vector<Event> done_;  ///< by replica: after the collectives enqueued so far

  mutable std::mutex mutex_;  ///< of what follows
  std::condition_variable_any changed_;
  std::deque<Submission> waiting_;  ///< the one in hand included
  std::size_t enqueued_ = 0;
  bool is_stuck_ = false;
  std::exception_ptr error_;  ///< later collectives are dropped until a replica has thrown it
  std::jthread thread_;       ///< last: it ends before what it uses
};

}  // namespace lockstep
