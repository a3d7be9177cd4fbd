#include "lockstep/runtime/thread/wait_timer.h"

#include <utility>

namespace lockstep {
namespace {

thread_local WaitTimer::Clock::duration total_of_this_thread{};
thread_local bool waiting = false;

}  // namespace

WaitTimer::WaitTimer() : start_(Clock::now()), outermost_(!std::exchange(waiting, true)) {}

WaitTimer::~WaitTimer() {
  if (!outermost_) return;
  waiting = false;
  total_of_this_thread += Clock::now() - start_;
}

WaitTimer::Clock::duration WaitTimer::total() { return total_of_this_thread; }

}  // namespace lockstep
