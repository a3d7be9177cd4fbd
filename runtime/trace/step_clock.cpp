#include "lockstep/runtime/trace/step_clock.h"

#include <utility>

namespace lockstep {
namespace {

thread_local StepClock::Split split{};
thread_local PhaseTimer* innermost = nullptr;

const char* name_of(Phase phase) {
  constexpr std::array<const char*, 4> names{"input", "compute", "reduce", "update"};
  return names[static_cast<std::size_t>(phase)];
}

}  // namespace

StepClock::Split StepClock::take() { return std::exchange(split, {}); }

PhaseTimer::PhaseTimer(Phase phase)
    : phase_(phase),
      outer_(std::exchange(innermost, this)),
      span_(name_of(phase)),
      start_(std::chrono::steady_clock::now()) {}

PhaseTimer::~PhaseTimer() {
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  split[static_cast<std::size_t>(phase_)] += ms - inner_ms_;
  if (outer_ != nullptr) outer_->inner_ms_ += ms;
  innermost = outer_;
}

}  // namespace lockstep
