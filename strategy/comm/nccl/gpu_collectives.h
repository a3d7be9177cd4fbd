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

/// The parts of one collective, which each replica of this process sets. Can be used again after the collective has
/// run.
class GpuCollective {
 public:
  /// For one replica on each GPU.
  explicit GpuCollective(const std::vector<LogicalDevice>& gpus);

 private:
  friend class GpuCollectives;
  std::vector<std::vector<GpuPart>> parts_;  ///< by replica
  std::vector<Event> computed_;              ///< by replica
};

/// Enqueues the collectives of this process's GPUs on one thread, each as one NCCL group, in the communication streams.
/// All GPUs therefore run them in the same order, and no replica thread blocks in NCCL. A collective is submitted only
/// after all replicas have set their parts, so no GPU waits for a part that depends on later calls of a host thread.
class GpuCollectives {
 public:
  /// `communicators` connect `gpus`, with the same `timeout`. Throws the same errors as Event's constructor.
  GpuCollectives(const std::vector<LogicalDevice>& gpus, std::unique_ptr<GpuCommunicators> communicators,
                 std::chrono::milliseconds timeout);
  /// Waits until all submitted collectives have been enqueued.
  ~GpuCollectives();
  GpuCollectives(const GpuCollectives&) = delete;
  GpuCollectives& operator=(const GpuCollectives&) = delete;

  /// Sets the replica's parts of a collective. Call it on the replica's thread, after submitting the work that computes
  /// the parts to its compute stream. Throws DeviceError if a failed step left NCCL in an unfinished call.
  void set_parts(GpuCollective& collective, int replica, std::span<const GpuPart> parts);
  /// Submits a collective, which must not change until all replicas have joined, and returns at once. Call it on the
  /// thread of one replica. `what` names the collective in errors.
  void submit(const char* what, const GpuCollective& collective);
  /// Number of collectives submitted so far.
  std::size_t submitted() const;
  /// Makes later work in the replica's compute stream wait for all collectives submitted so far. Call it on the
  /// replica's thread; it blocks until they have been enqueued. The first replica to join throws the error of
  /// enqueuing: DeviceError, Timeout, or BrokenInvariant when memory breaks the contracts. Throws Timeout when they are
  /// not enqueued within twice the timeout.
  void join(int replica);
  /// Waits until all submitted collectives have been enqueued.
  void wait_until_enqueued();
  /// Waits for the enqueuing of a failed step's collectives, up to twice the timeout, and discards their error.
  /// Precondition: no replica is running.
  void abandon_step();

 private:
  struct Submission {
    const char* what;
    const GpuCollective* collective;
  };
  /// Waits up to twice the timeout, so that the communicators, which fail after the timeout, can report their error
  /// first. Returns whether all collectives have been enqueued.
  bool try_wait(std::unique_lock<std::mutex>& lock);
  void serve(const std::stop_token& stop);
  void enqueue(const Submission& submission);

  std::vector<LogicalDevice> gpus_;  ///< by replica
  std::unique_ptr<GpuCommunicators> communicators_;
  std::chrono::milliseconds timeout_;
  std::vector<Event> done_;  ///< by replica: the end of the last enqueued collective

  mutable std::mutex mutex_;  ///< protects the following members
  std::condition_variable_any changed_;
  std::deque<Submission> waiting_;  ///< including the one being enqueued
  std::size_t enqueued_ = 0;
  bool is_stuck_ = false;
  std::exception_ptr error_;  ///< later collectives are dropped until a replica has thrown it
  std::jthread thread_;       ///< last: it uses the other members
};

}  // namespace lockstep
