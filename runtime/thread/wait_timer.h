#pragma once

#include <chrono>

namespace lockstep {

/// The longest time limit of a wait. Time points that are much later cannot be represented.
inline constexpr std::chrono::seconds longest_timeout = std::chrono::years(1);

/// Adds its lifetime to the calling thread's waiting time: time in which the thread waits for other threads or works on
/// behalf of all of them. Of nested timers, only the outermost one counts.
class WaitTimer {
 public:
  /// The clock that measures waits.
  using Clock = std::chrono::steady_clock;

  WaitTimer();
  ~WaitTimer();
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

  /// When the timer was made.
  Clock::time_point start() const { return start_; }
  /// The calling thread's total waiting time since it started, without timers that are still running.
  static Clock::duration total();

 private:
  Clock::time_point start_;
  bool outermost_;
};

}  // namespace lockstep
