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
  /// Throws Aborted after `abort`, Timeout after `timeout`, and then for everyone until `reset`.
  void arrive_and_wait(int member, const char* place, std::chrono::milliseconds timeout);
  /// Releases everyone who waits or comes later. `reason` becomes part of their message.
  void abort(const std::string& reason);
  /// Back to the first state. Precondition: nobody waits.
  void reset();

 private:
  std::string missing() const;
  [[noreturn]] void throw_aborted() const;

  const int members_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> arrived_;
  int count_ = 0;
  std::uint64_t round_ = 0;
  bool aborted_ = false;
  std::string reason_;
};

}  // namespace lockstep
