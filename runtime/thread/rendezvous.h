#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <lockstep/runtime/thread/futex.h>

namespace lockstep {

/// A barrier for a fixed group of threads. Waiting never hangs: a member that fails calls `abort`, and all others throw
/// Aborted when they wait. If members do not arrive in time, one waiting member throws Timeout, which names the late
/// members, and the others throw Aborted. Tracks the state of each member. Arriving takes no lock that another member
/// holds, and allocates no memory after the first rounds.
class Rendezvous {
 public:
  /// A group of members 0 .. members - 1. Throws InvalidArgument for members < 1.
  explicit Rendezvous(int members);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Size of the group.
  int members() const { return static_cast<int>(members_.size()); }
  /// Records that `member` begins its part of a run.
  void begin(int member);
  /// Blocks until every member has arrived at `place`, the collective's name in messages. Throws LogicError if a member
  /// has finished or arrived at another place. Throws Timeout, whose message has the state of every member, after
  /// `timeout`. Throws Aborted after `abort` or another member's Timeout. After any of these errors, all members throw
  /// until `reset`. Precondition: timeout <= longest_timeout.
  void arrive_and_wait(int member, const char* place, std::chrono::milliseconds timeout);
  /// Records that `member` has failed. Every member that waits or arrives later throws Aborted with `reason` in the
  /// message. Allocates no memory.
  void abort(int member, std::string reason);
  /// Records that `member` will not arrive again in this run. Members that wait for it, now or later, throw a
  /// LogicError that names it, because the members did not agree on the number of rounds.
  void finish(int member);
  /// Returns to the initial state. Precondition: no member waits.
  void reset();

  /// Each member's state and its duration: "replica 0: waiting in all_reduce for 30.0 s; replica 1: running for 31.2
  /// s". Thread-safe.
  std::string states() const;
  /// Whether a member has begun a run and there has been no reset since. Thread-safe.
  bool busy() const;

 private:
  using Clock = Futex::Clock;
  enum class State { idle, running, waiting, ended };

  /// A member's state, on cache lines of its own. The member's thread writes it.
  struct alignas(64) Member {
    mutable std::mutex mutex;  ///< uncontended except while other threads read the state
    State state = State::idle;
    Clock::time_point since{};  ///< when the state began
    std::string place{};        ///< place of the current or last round

    void enter(State next);
    State current() const;
    std::string text(Clock::time_point now) const;
  };

  Member& at(int member) { return members_.at(static_cast<std::size_t>(member)); }
  void check_place(int member, const char* place);
  void complete(std::uint32_t round);
  void time_out(const char* place, std::uint32_t round, std::chrono::milliseconds timeout);
  void release_for_finished(std::uint32_t round);
  [[noreturn]] void throw_released() const;
  std::string missing() const;

  /// Lowest bit: set when the round is released, i.e. its members throw instead of waiting for a member that will not
  /// arrive. Upper bits: the number of completed rounds. A round is either completed or released, never both: a round
  /// completes only if this word still has its value from the round's start.
  Futex round_;
  alignas(64) std::atomic<int> count_ = 0;  ///< number of members that have arrived
  std::atomic<int> first_ =
      -1;  ///< first member that arrived in this round; the other members must arrive at the same place; -1: none
  std::atomic<int> finished_ = 0;  ///< number of members that have finished
  std::vector<Member> members_;

  mutable std::mutex mutex_;  ///< protects release_ and reason_; held by the thread that sets the released bit
  enum class Release { aborted, mismatch } release_ = Release::aborted;
  std::string reason_;
};

/// The states of every group that is busy(), one line per group; for reports of hangs. Thread-safe.
std::string states_of_all_replicas();

}  // namespace lockstep
