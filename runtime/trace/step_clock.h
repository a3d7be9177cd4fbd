#pragma once

#include <array>
#include <chrono>

#include <lockstep/runtime/trace/trace.h>

namespace lockstep {

/// Where the time of a training step goes.
enum class Phase { input, compute, reduce, update };

/// The calling thread's time by phase, in milliseconds, since it was last taken. Phases nest: an inner one's time is
/// not counted in the outer.
class StepClock {
 public:
  using Split = std::array<double, 4>;  ///< indexed by Phase
  /// Reads and clears the calling thread's split.
  static Split take();
};

/// Counts its lifetime to a phase of the calling thread, and is a span of its trace.
class PhaseTimer {
 public:
  /// Until it is destroyed, or a timer inside it runs.
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
