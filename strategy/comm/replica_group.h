#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include <lockstep/runtime/device/not_capturable.h>
#include <lockstep/runtime/device/stream.h>
#include <lockstep/runtime/thread/rendezvous.h>
#include <lockstep/runtime/thread/wait_timer.h>

namespace lockstep {

/// The barrier of a strategy's replicas, with a timeout. Measures how long each replica was busy in its last step. If
/// `sequential`, only one replica runs at any time: replica 0 until it reaches a barrier or ends its step, then replica
/// 1, and so on.
class ReplicaGroup {
 public:
  /// Clock of busy times.
  using Clock = WaitTimer::Clock;

  /// For replicas 0 .. replicas - 1. `timeout` is the longest wait for the other replicas at a barrier; if
  /// `sequential`, the longest wait for one replica's run. Values above longest_timeout (a year) are reduced to it.
  /// Throws InvalidArgument for replicas < 1.
  ReplicaGroup(int replicas, std::chrono::milliseconds timeout, bool sequential = false)
      : rendezvous_(replicas),
        timeout_(std::min<std::chrono::milliseconds>(timeout, longest_timeout)),
        sequential_(sequential),
        members_(static_cast<std::size_t>(replicas)) {}
  /// For one replica on each device. `parameter_devices`: devices whose memory the replicas' kernels access. If all
  /// replicas are on GPUs and there are at least two GPUs, counting the GPUs of `parameter_devices`, barriers also
  /// order the work in the compute streams of all these GPUs. Throws InvalidArgument for no devices, and the errors of
  /// Event's constructor.
  ReplicaGroup(const std::vector<LogicalDevice>& devices, std::chrono::milliseconds timeout, bool sequential = false,
               const std::vector<LogicalDevice>& parameter_devices = {});

  /// The constructor's `timeout`, at most longest_timeout.
  std::chrono::milliseconds timeout() const { return timeout_; }
  /// Number of replicas.
  int size() const { return rendezvous_.members(); }
  /// Blocks until every replica has called it. If barriers order the work of GPUs (see the constructor), work that a
  /// replica submits after the barrier runs on its GPU only after all work in the replicas' compute streams from before
  /// the barrier has completed. The host does not wait for that work. Throws the same errors as
  /// Rendezvous::arrive_and_wait, and NotCapturable while the calling thread captures a graph (GpuCapture). If barriers
  /// order the work of GPUs, also throws DeviceError.
  void barrier(int replica, const char* place) {
    refuse_capture(combined_value);
    if (gpus_.empty()) return barrier_on_host(replica, place);
    const std::size_t number = member(replica).barriers++;
    event_of(replica, number).record(stream_of(replica));
    barrier_on_host(replica, place);
    order_after_all(replica, number);
  }
  /// Like barrier(), but does not order the GPUs' work and does not throw DeviceError.
  void barrier_on_host(int replica, const char* place) {
    refuse_capture(combined_value);
    wait_for_runs(replica, replica, size());
    rendezvous_.arrive_and_wait(replica, place, timeout_);
    wait_for_runs(replica, 0, replica);
  }
  /// The barrier on the host, to abort it and to report its state.
  Rendezvous& rendezvous() { return rendezvous_; }

  /// Runs job(replica), the replica's part of a step, on the calling thread, and measures its busy time. Throws
  /// whatever `job` throws and, if `sequential`, the errors of Rendezvous::arrive_and_wait.
  template <class Job>
  void run_timed(int replica, Job&& job) {
    rendezvous_.begin(replica);
    member(replica).barriers = 0;  // after a failed step the replicas' counts may differ
    wait_for_runs(replica, 0, replica);
    const Clock::duration waited_before = WaitTimer::total();
    const Clock::time_point start = Clock::now();
    job(replica);
    member(replica).busy = Clock::now() - start - (WaitTimer::total() - waited_before);
    wait_for_runs(replica, replica, size());
  }
  /// Duration of the replica's last step whose job did not throw; 0 before the first. Excludes the time that WaitTimer
  /// counts: waiting for other replicas or for input, and merge_call, which runs once for all replicas. Precondition:
  /// no step is running.
  Clock::duration busy(int replica) const { return members_.at(static_cast<std::size_t>(replica)).busy; }
  /// Whether replicas run one at a time.
  bool sequential() const { return sequential_; }
  /// The GPUs of `parameter_devices` without a replica; empty unless all replicas are on GPUs.
  const std::vector<LogicalDevice>& parameter_gpus() const { return parameter_gpus_; }

 private:
  static constexpr const char* combined_value = "a value that replicas combine";
  /// If replicas run one at a time, waits while replicas first .. last - 1 run, each until its next barrier or the end
  /// of its step. All replicas pass one rendezvous after each of these runs.
  void wait_for_runs(int replica, int first, int last) {
    if (!sequential_) return;
    for (int other = first; other < last; ++other)
      rendezvous_.arrive_and_wait(replica, "another replica's run", timeout_);
  }

  /// Written only by its replica's thread; the alignment avoids false sharing.
  struct alignas(64) Member {
    Clock::duration busy{};
    std::size_t barriers = 0;  ///< number of barriers of this step that order GPU work
    /// events[0] for the even barriers of a step, events[1] for the odd ones. A replica records an event again two
    /// barriers later, or in the next step; by then all replicas have enqueued their waits for the event, because they
    /// do so before they reach the barrier in between or end the step.
    std::array<std::optional<Event>, 2> events{};
  };
  Member& member(int replica) { return members_[static_cast<std::size_t>(replica)]; }
  Event& event_of(int replica, std::size_t barrier_number) { return *member(replica).events[barrier_number % 2]; }
  Stream stream_of(int replica) const { return {gpus_[static_cast<std::size_t>(replica)]}; }
  /// Makes later work in this replica's compute stream wait for the work that the other replicas submitted before the
  /// barrier, and for the work submitted so far to parameter_gpus_. Makes later work of parameter_gpus_ wait for this
  /// replica's stream.
  void order_after_all(int replica, std::size_t barrier_number);

  Rendezvous rendezvous_;
  std::chrono::milliseconds timeout_;
  bool sequential_;
  std::vector<LogicalDevice> gpus_;  ///< by replica; empty unless all replicas are on GPUs, and there are several GPUs
  std::vector<LogicalDevice> parameter_gpus_;
  std::vector<Member> members_;  ///< by replica
};

}  // namespace lockstep
