#pragma once

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

/// The barrier of a strategy's replicas, with the longest time that one waits for the others. Knows how long each
/// replica was busy in its last step. If `sequential`, one replica works at a time: replica 0 until it reaches a
/// barrier or ends, then replica 1, and so on.
class ReplicaGroup {
 public:
  /// Of busy times.
  using Clock = WaitTimer::Clock;

  /// Of replicas 0 .. replicas - 1; `timeout` is the longest wait.
  ReplicaGroup(int replicas, std::chrono::milliseconds timeout, bool sequential = false)
      : rendezvous_(replicas),
        timeout_(timeout),
        sequential_(sequential),
        members_(static_cast<std::size_t>(replicas)) {}
  /// Of a replica on each device.
  ReplicaGroup(const std::vector<LogicalDevice>& devices, std::chrono::milliseconds timeout, bool sequential = false);

  /// Longest wait.
  std::chrono::milliseconds timeout() const { return timeout_; }
  /// Number of replicas.
  int size() const { return rendezvous_.members(); }
  /// Blocks until every replica is here. Work that GPUs get after it runs after all work that any of them got before
  /// it. Throws as Rendezvous::arrive_and_wait does.
  void barrier(int replica, const char* place) {
    refuse_capture(combined_value);
    if (gpus_.empty()) return barrier_on_host(replica, place);
    const std::size_t number = member(replica).barriers++;
    event_of(replica, number).record(stream_of(replica));
    barrier_on_host(replica, place);
    order_after_all(replica, number);
  }
  /// The same without an order of the GPUs' work.
  void barrier_on_host(int replica, const char* place) {
    refuse_capture(combined_value);
    wait_for_turns(replica, replica, size());
    rendezvous_.arrive_and_wait(replica, place, timeout_);
    wait_for_turns(replica, 0, replica);
  }
  /// For aborting, and for reports.
  Rendezvous& rendezvous() { return rendezvous_; }

  /// A replica's part of a step, on the replica's thread.
  template <class Job>
  void run_timed(int replica, Job&& job) {
    rendezvous_.begin(replica);
    member(replica).barriers = 0;  // a step that failed may have left the replicas apart
    wait_for_turns(replica, 0, replica);
    const Clock::duration waited_before = WaitTimer::total();
    const Clock::time_point start = Clock::now();
    job(replica);
    member(replica).busy = Clock::now() - start - (WaitTimer::total() - waited_before);
    wait_for_turns(replica, replica, size());
  }
  /// How long the replica's last step took without what WaitTimer counts: waits for other replicas and for input, and
  /// merges, which are work for all. Between steps.
  Clock::duration busy(int replica) const { return members_.at(static_cast<std::size_t>(replica)).busy; }
  /// Whether replicas take turns.
  bool sequential() const { return sequential_; }

 private:
  static constexpr const char* combined_value = "a value that replicas combine";
  /// Every turn ends with a barrier of all replicas: this waits for the ends of the turns [first, last).
  void wait_for_turns(int replica, int first, int last) {
    if (!sequential_) return;
    for (int turn = first; turn < last; ++turn) rendezvous_.arrive_and_wait(replica, "the end of a turn", timeout_);
  }

  /// On a cache line of its own, since only the replica's thread writes it.
  struct alignas(64) Member {
    Clock::duration busy{};
    std::size_t barriers = 0;  ///< of the step, where GPUs' work is put in order
    /// For every other barrier: no replica reaches the next one before all have left the one before, so that no event
    /// is recorded again before all wait for it.
    std::array<std::optional<Event>, 2> events{};
  };
  Member& member(int replica) { return members_[static_cast<std::size_t>(replica)]; }
  Event& event_of(int replica, std::size_t barrier_number) { return *member(replica).events[barrier_number % 2]; }
  Stream stream_of(int replica) const { return {gpus_[static_cast<std::size_t>(replica)]}; }
  /// What this replica's GPU is given from now on, it does after what all of them had been given at the barrier.
  void order_after_all(int replica, std::size_t barrier_number);

  Rendezvous rendezvous_;
  std::chrono::milliseconds timeout_;
  bool sequential_;
  std::vector<LogicalDevice> gpus_;  ///< by replica, when all of several are on GPUs
  std::vector<Member> members_;      ///< by replica
};

}  // namespace lockstep
