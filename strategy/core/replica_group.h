#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include <lockstep/runtime/thread/rendezvous.h>

namespace lockstep {

/// The meeting point of a strategy's replicas, with the longest time that one waits for the others. Knows how long each
/// replica was busy in its last step.
class ReplicaGroup {
 public:
  using Clock = std::chrono::steady_clock;

  ReplicaGroup(int replicas, std::chrono::milliseconds timeout)
      : rendezvous_(replicas), timeout_(timeout), times_(static_cast<std::size_t>(replicas)) {}

  int size() const { return rendezvous_.members(); }
  /// Blocks until every replica is here. Throws as Rendezvous::arrive_and_wait does.
  void meet(int replica, const char* place) {
    const Clock::time_point start = Clock::now();
    rendezvous_.arrive_and_wait(replica, place, timeout_);
    times_[static_cast<std::size_t>(replica)].waited += Clock::now() - start;
  }
  Rendezvous& rendezvous() { return rendezvous_; }

  /// A replica's part of a step, on the replica's thread.
  template <class Job>
  void run_timed(int replica, Job&& job) {
    Times& times = times_[static_cast<std::size_t>(replica)];
    times.waited = {};
    const Clock::time_point start = Clock::now();
    job(replica);
    times.total = Clock::now() - start;
  }
  /// How long the replica's last step took without its waits for other replicas. Between steps.
  Clock::duration busy(int replica) const {
    const Times& times = times_.at(static_cast<std::size_t>(replica));
    return times.total - times.waited;
  }

 private:
  /// Of the last step. On a cache line of its own, since only the replica's thread writes it.
  struct alignas(64) Times {
    Clock::duration total{};
    Clock::duration waited{};
  };

  Rendezvous rendezvous_;
  std::chrono::milliseconds timeout_;
  std::vector<Times> times_;  ///< by replica
};

}  // namespace lockstep
