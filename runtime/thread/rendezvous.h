#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace lockstep {

/// A barrier of a fixed group that nobody hangs at: a member that fails calls `abort`, which releases all the others
/// with Aborted; a member that never comes makes the others throw Timeout naming it.
class Rendezvous {
 public:
  explicit Rendezvous(int members);

  int members() const { return members_; }
  /// Blocks until every member has arrived. `place` says what is waited for, in error messages.
  /// Throws Aborted after `abort`, LogicError when a member has finished or comes to another place, Timeout after
  /// `timeout`: for everyone, until `reset`.
  void arrive_and_wait(int member, const char* place, std::chrono::milliseconds timeout);
  /// Releases everyone who waits or comes later. `reason` becomes part of their message.
  void abort(const std::string& reason);
  /// `member` will not come again in this run. Whoever waits for it, now or later, gets a LogicError naming it: the
  /// members did not agree on how often they meet.
  void finish(int member);
  /// Back to the first state. Precondition: nobody waits.
  void reset();

 private:
  std::string missing() const;
  void release_if_finished(const char* place);
  [[noreturn]] void release_apart(int member, const char* place);
  [[noreturn]] void throw_released() const;

  const int members_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> arrived_;
  std::vector<bool> finished_;
  int count_ = 0;
  std::uint64_t round_ = 0;
  const char* place_ = "";  ///< of the round under way
  enum class Release { none, aborted, mismatch } release_ = Release::none;
  std::string reason_;
};

}  // namespace lockstep
