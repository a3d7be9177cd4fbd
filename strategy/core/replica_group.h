#pragma once

#include <chrono>

#include <lockstep/runtime/thread/rendezvous.h>

namespace lockstep {

/// The meeting point of a strategy's replicas, with the longest time that one waits for the others.
class ReplicaGroup {
 public:
  ReplicaGroup(int replicas, std::chrono::milliseconds timeout) : rendezvous_(replicas), timeout_(timeout) {}

  int size() const { return rendezvous_.members(); }
  /// Blocks until every replica is here. Throws as Rendezvous::arrive_and_wait does.
  void meet(int replica, const char* place) { rendezvous_.arrive_and_wait(replica, place, timeout_); }
  Rendezvous& rendezvous() { return rendezvous_; }

 private:
  Rendezvous rendezvous_;
  std::chrono::milliseconds timeout_;
};

}  // namespace lockstep
