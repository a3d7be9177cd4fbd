#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <lockstep/runtime/thread/futex.h>

namespace lockstep {

/// A barrier of a fixed group that never hangs: a member that fails calls `abort`, which releases all the others
/// with Aborted; a member that never arrives makes the others throw Timeout naming it. Knows what each member does.
/// Arriving takes no lock that another member holds, and no memory after the first rounds.
class Rendezvous {
 public:
  /// Of members 0 .. members - 1.
  explicit Rendezvous(int members);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Size of the group.
  int members() const { return static_cast<int>(members_.size()); }
  /// `member` begins its part of a run.
  void begin(int member);
  /// Blocks until every member has arrived. `place` says what is waited for, in error messages.
  /// Throws Aborted after `abort`, LogicError when a member has finished or arrived at another place, Timeout after
  /// `timeout`: for everyone, until `reset`. Timeout's message has the state of every member.
  void arrive_and_wait(int member, const char* place, std::chrono::milliseconds timeout);
  /// `member` has failed: releases every member that waits or arrives later. `reason` becomes part of their message.
  /// Needs no memory.
  void abort(int member, std::string reason);
  /// `member` will not arrive again in this run. Members that wait for it, now or later, get a LogicError naming it:
  /// the members did not agree on the number of rounds.
  void finish(int member);
  /// Back to the first state. Precondition: nobody waits.
  void reset();

  /// Each member's state and how long it has lasted: "replica 0: waiting in all_reduce for 30.0 s; replica 1: running
  /// for 31.2 s". On any thread, at any time.
  std::string states() const;
  /// Whether a run is under way.
  bool busy() const;

 private:
  using Clock = Futex::Clock;
  enum class State { idle, running, waiting, ended };

  /// On cache lines of its own. Written by the member's thread.
  struct alignas(64) Member {
    mutable std::mutex mutex;  ///< for states(), which other threads call: else uncontended
    State state = State::idle;
    Clock::time_point since{};  ///< of the state
    std::string place{};        ///< of the round it waits in, or was in last

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

  /// Lowest bit: released. Above it: the number of completed rounds. A round is either completed or released, since
  /// both change this word from the same value.
  Futex round_;
  alignas(64) std::atomic<int> count_ = 0;  ///< members that have arrived
  std::atomic<int> first_ = -1;             ///< the member that came first, whose place is compared
  std::atomic<int> finished_ = 0;           ///< members
  std::vector<Member> members_;

  mutable std::mutex mutex_;  ///< of the reason, whose writer sets the released bit while holding it
  enum class Release { aborted, mismatch } release_ = Release::aborted;
  std::string reason_;
};

/// The states of every group that has a run under way, a line for each; for reports of hangs.
std::string states_of_all_replicas();

}  // namespace lockstep
