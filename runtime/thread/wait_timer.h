#pragma once

#include <chrono>

namespace lockstep {

/// Counts its lifetime as time in which the calling thread waits for others or works for all of them. Timers nest: an
/// inner one adds nothing.
class WaitTimer {
 public:
  /// Steady, as waits are.
  using Clock = std::chrono::steady_clock;

  WaitTimer();
  ~WaitTimer();
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

  /// When the timer was made.
  Clock::time_point start() const { return start_; }
  /// Of the calling thread since it began, without the timers that run.
  static Clock::duration total();

 private:
  Clock::time_point start_;
  bool outermost_;
};

}  // namespace lockstep
