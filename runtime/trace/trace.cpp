#include "lockstep/runtime/trace/trace.h"

#include <atomic>
#include <mutex>
#include <new>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> recording{false};

struct Recorded {
  std::mutex mutex;
  std::size_t capacity = 0;
  Clock::time_point start;
  std::vector<TraceEvent> events;
};

Recorded& recorded() {
  static Recorded instance;
  return instance;
}

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

}  // namespace

TraceRecording::TraceRecording(std::size_t capacity) {
  Recorded& all = recorded();
  const std::lock_guard lock(all.mutex);
  require<LogicError>(!recording.exchange(true), "a trace is already being recorded; finish it first");
  all.capacity = capacity;
  all.start = Clock::now();
  all.events.clear();
}

TraceRecording::~TraceRecording() {
  recording = false;
  Recorded& all = recorded();
  const std::lock_guard lock(all.mutex);
  all.events = {};
}

std::vector<TraceEvent> TraceRecording::events() const {
  Recorded& all = recorded();
  const std::lock_guard lock(all.mutex);
  return all.events;
}

TraceSpan::TraceSpan(std::string_view before, std::string_view name)
    : before_(before), name_(name), recorded_(recording.load(std::memory_order_relaxed)) {
  if (recorded_) start_ = Clock::now();
}

TraceSpan::~TraceSpan() {
  if (!recorded_) return;
  const Clock::time_point end = Clock::now();
  Recorded& all = recorded();
  const std::lock_guard lock(all.mutex);
  // The recording may have ended in the meantime, and another one may have begun.
  if (!recording || start_ < all.start || all.events.size() >= all.capacity) return;
  try {
    all.events.push_back({.name = std::string(before_).append(name_),
                          .replica = current_context().replica,
                          .start_us = microseconds(start_ - all.start),
                          .duration_us = microseconds(end - start_)});
  } catch (const std::bad_alloc&) {
    all.capacity = all.events.size();  // end the recording rather than fail the step
  }
}

}  // namespace lockstep
