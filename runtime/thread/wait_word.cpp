#include <algorithm>
#include <climits>
#include <ctime>
#include <thread>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lockstep/runtime/thread/wait_word.h>

namespace lockstep {
namespace {

// A look costs less than a microsecond, and lets another replica run where there are fewer cores than replicas. Waking
// a sleeper takes tens of microseconds: one that comes within that time is not worth sleeping for.
constexpr int looks_before_sleep = 32;

}  // namespace

void WaitWord::add(std::uint32_t amount) {
  value_ += amount;
  wake();
}

void WaitWord::set_bits(std::uint32_t bits) {
  value_ |= bits;
  wake();
}

bool WaitWord::exchange(std::uint32_t expected, std::uint32_t desired) {
  if (!value_.compare_exchange_strong(expected, desired)) return false;
  wake();
  return true;
}

bool WaitWord::wait_while(std::uint32_t old, Clock::time_point deadline) {
  for (int look = 0; look < looks_before_sleep; ++look) {
    if (load() != old) return true;
    std::this_thread::yield();
  }
  while (load() == old) {
    const Clock::duration left = deadline - Clock::now();
    if (left <= Clock::duration::zero()) return load() != old;
    sleep_while(old, left);
  }
  return true;
}

// std::atomic waits without a limit only, hence the system's call under it. In the one order of sequentially consistent
// operations either the sleeper is counted before the waker looks at sleepers_, or the new value is there before the
// system compares it with `old`.

void WaitWord::wake() {
  if (sleepers_ > 0) ::syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
}

void WaitWord::sleep_while(std::uint32_t old, Clock::duration longest) {
  static_assert(sizeof value_ == sizeof old && std::atomic<std::uint32_t>::is_always_lock_free);
  using std::chrono::seconds;
  const seconds whole = std::min(std::chrono::duration_cast<seconds>(longest), seconds(std::chrono::years(1)));
  const std::chrono::nanoseconds rest = (longest - whole) % seconds(1);
  const std::timespec limit{.tv_sec = whole.count(), .tv_nsec = rest.count()};
  ++sleepers_;
  ::syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, old, &limit);  // also ends for no reason: the caller looks again
  --sleepers_;
}

}  // namespace lockstep
