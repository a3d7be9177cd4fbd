#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <lockstep/runtime/device/stream.h>
#include <lockstep/strategy/comm/nccl/gpu_communicators.h>

namespace lockstep {

/// The parts of one collective. Each replica of this process sets its own parts. Can be used again after the collective
/// has run.
class GpuCollective {
 public:
  /// For one replica on each GPU.
  explicit GpuCollective(const std::vector<LogicalDevice>& gpus);

 private:
  friend class GpuCollectives;
  struct State {
    std::vector<std::vector<GpuPart>> parts;  ///< by replica
    std::vector<Event> computed;              ///< by replica
  };
  std::shared_ptr<State> state_;  ///< shared with the thread that enqueues the collective
};

/// Enqueues the collectives of this process's GPUs on one thread, each as one NCCL group, in the communication streams.
/// All GPUs therefore run them in the same order, and no replica thread blocks in NCCL. A collective is submitted only
/// after all replicas have set their parts, so no GPU waits for a part that depends on later calls of a host thread.
class GpuCollectives {
 public:
  /// `communicators` connect `gpus`, with the same `timeout`. Throws the same errors as Event's constructor.
  GpuCollectives(const std::vector<LogicalDevice>& gpus, std::unique_ptr<GpuCommunicators> communicators,
                 std::chrono::milliseconds timeout);
  /// Waits until all submitted collectives have been enqueued, up to twice the timeout. If NCCL has not returned from a
  /// call by then, logs a warning, drops the later collectives and leaves the thread running in the call; the thread
  /// then keeps the communicators.
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
  /// replica's thread; it blocks until they have been enqueued. If enqueuing has failed, the first replica that joins
  /// throws the error: DeviceError, Timeout, or BrokenInvariant for a part that check_part rejects. Throws Timeout if
  /// the collectives are not enqueued within twice the timeout.
  void join(int replica);
  /// Waits up to twice the timeout until all submitted collectives have been enqueued. If they have not been by then,
  /// drops all except the collective in NCCL's call. Does nothing if an earlier wait has timed out.
  void wait_until_enqueued();
  /// Like wait_until_enqueued, for a failed step: waits even if an earlier wait has timed out, and discards the
  /// collectives' error. Precondition: no replica is running.
  void abandon_step();

 private:
  struct State;  // shared with the thread, which outlives this object if NCCL does not return from a call

  std::shared_ptr<State> state_;
  std::jthread thread_;
};

}  // namespace lockstep
