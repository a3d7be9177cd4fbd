#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include <lockstep/runtime/thread/rendezvous.h>
#include <lockstep/runtime/thread/wait_timer.h>

namespace lockstep {

/// The meeting point of a strategy's replicas, with the longest time that one waits for the others. Knows how long each
/// replica was busy in its last step. In turn order one replica works at a time: replica 0 until it meets the others or
/// ends, then replica 1, and so on.
class ReplicaGroup {
 public:
  /// Of busy times.
  using Clock = WaitTimer::Clock;

  /// Of replicas 0 .. replicas - 1; `timeout` is the longest wait.
  ReplicaGroup(int replicas, std::chrono::milliseconds timeout, bool turn_order = false)
      : rendezvous_(replicas), timeout_(timeout), turn_order_(turn_order), busy_(static_cast<std::size_t>(replicas)) {}

  /// Number of replicas.
  int size() const { return rendezvous_.members(); }
  /// Blocks until every replica is here. Throws as Rendezvous::arrive_and_wait does.
  void meet(int replica, const char* place) {
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
    wait_for_turns(replica, 0, replica);
    const Clock::duration waited_before = WaitTimer::total();
    const Clock::time_point start = Clock::now();
    job(replica);
    busy_[static_cast<std::size_t>(replica)].time = Clock::now() - start - (WaitTimer::total() - waited_before);
    wait_for_turns(replica, replica, size());
  }
  /// How long the replica's last step took without what WaitTimer counts: waits for other replicas and for input, and
  /// merges, which are work for all. Between steps.
  Clock::duration busy(int replica) const { return busy_.at(static_cast<std::size_t>(replica)).time; }

 private:
  /// Every turn ends with a meeting of all replicas: this waits for the ends of the turns [first, last).
  void wait_for_turns(int replica, int first, int last) {
    if (!turn_order_) return;
    for (int turn = first; turn < last; ++turn) rendezvous_.arrive_and_wait(replica, "the end of a turn", timeout_);
  }

  /// On a cache line of its own, since only the replica's thread writes it.
  struct alignas(64) Busy {
    Clock::duration time{};
  };

  Rendezvous rendezvous_;
  std::chrono::milliseconds timeout_;
  bool turn_order_;
  std::vector<Busy> busy_;  ///< by replica
};

}  // namespace lockstep
