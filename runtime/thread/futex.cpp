#include "lockstep/runtime/thread/futex.h"

#include <algorithm>
#include <climits>
#include <ctime>
#include <thread>
#include <utility>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep {
namespace {

// How long a thread polls before it sleeps: about the worst cost of falling asleep and being woken, that of a virtual
// machine whose core has gone idle. Polling this long at most doubles the cost.
constexpr std::chrono::microseconds look_time(50);
// If threads share cores, each poll yields to another thread of the group, for a few microseconds. But if another
// program has work for the core, it may keep the core for its time slice, milliseconds: since Linux 6.18 a thread that
// yields gives up as much. A yield of at least this length therefore stops all threads from polling for 32 times its
// length, so that polling costs at most 1/32 of the time.
constexpr std::chrono::microseconds long_yield(200);
constexpr int rest_per_long_yield = 32;

}  // namespace

Futex::Futex(int threads) : each_has_a_core_(threads <= available_cores()) {}

void Futex::add(std::uint32_t amount) {
  value_ += amount;
  wake();
}

void Futex::set_bits(std::uint32_t bits) {
  value_ |= bits;
  wake();
}

bool Futex::exchange(std::uint32_t expected, std::uint32_t desired) {
  if (!value_.compare_exchange_strong(expected, desired)) return false;
  wake();
  return true;
}

bool Futex::wait_while(std::uint32_t old, Clock::time_point deadline) {
  if (look_while(old)) return true;
  while (load() == old) {
    const Clock::duration left = deadline - Clock::now();
    if (left <= Clock::duration::zero()) return load() != old;
    sleep_while(old, left);
  }
  return true;
}

/// Polls the number for look_time; returns whether it is no longer `old`.
bool Futex::look_while(std::uint32_t old) {
  Clock::time_point now = Clock::now();
  if (!each_has_a_core_ && now < next_look_.load(std::memory_order_relaxed)) return load() != old;
  for (const Clock::time_point end = now + look_time; now < end;) {
    if (load() != old) return true;
    if (!each_has_a_core_) std::this_thread::yield();
    const Clock::time_point before = std::exchange(now, Clock::now());
    if (!each_has_a_core_ && now - before >= long_yield)
      next_look_.store(now + rest_per_long_yield * (now - before), std::memory_order_relaxed);
  }
  return load() != old;
}

// std::atomic::wait has no time limit, hence the futex system call. No wake-up is lost: in the single order of
// sequentially consistent operations, either the sleeper increments sleepers_ before the waker reads it, or the waker
// changes the number before the kernel compares it with `old`.

void Futex::wake() {
  if (sleepers_ > 0) ::syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
}

void Futex::sleep_while(std::uint32_t old, Clock::duration longest) {
  static_assert(sizeof value_ == sizeof old && std::atomic<std::uint32_t>::is_always_lock_free);
  using std::chrono::seconds;
  const seconds whole = std::min(std::chrono::duration_cast<seconds>(longest), seconds(std::chrono::years(1)));
  const std::chrono::nanoseconds rest = (longest - whole) % seconds(1);
  const std::timespec limit{.tv_sec = whole.count(), .tv_nsec = rest.count()};
  ++sleepers_;
  ::syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, old, &limit);  // may return without cause: the caller checks again
  --sleepers_;
}

}  // namespace lockstep
