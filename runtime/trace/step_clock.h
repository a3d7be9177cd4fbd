#pragma once

#include <array>
#include <chrono>

#include <lockstep/runtime/trace/trace.h>

namespace lockstep {

/// The phases of a training step.
enum class Phase { input, compute, reduce, update };

/// The calling thread's time in each phase since the last `take`, in milliseconds. Phases nest: the time of an inner
/// phase is not counted in the outer one.
class StepClock {
 public:
  using Split = std::array<double, 4>;  ///< indexed by Phase
  /// Returns and clears the calling thread's times. Phases that are still running are not included.
  static Split take();
};

/// Counts its lifetime as time of a phase of the calling thread, and records it as a TraceSpan.
class PhaseTimer {
 public:
  /// Starts the timer, which excludes the lifetimes of timers nested in it.
  explicit PhaseTimer(Phase phase);
  ~PhaseTimer();
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  Phase phase_;
  PhaseTimer* outer_;
  TraceSpan span_;
  std::chrono::steady_clock::time_point start_;
  double inner_ms_ = 0;
};

}  // namespace lockstep
