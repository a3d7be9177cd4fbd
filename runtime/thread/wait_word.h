#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockstep {

/// A number that threads wait to see changed. Whoever changes it wakes them, which costs a call of the system only when
/// one sleeps.
class WaitWord {
 public:
  using Clock = std::chrono::steady_clock;

  std::uint32_t load() const { return value_.load(); }
  void add(std::uint32_t amount);
  void set_bits(std::uint32_t bits);
  /// Puts `desired` in place of `expected`; false when it is another number.
  bool exchange(std::uint32_t expected, std::uint32_t desired);
  /// No one is woken. Precondition: nobody waits.
  void clear_bits(std::uint32_t bits) { value_ &= ~bits; }

  /// Blocks while it is `old`: first lets other threads run and looks again, a few dozen times, then sleeps. False
  /// when it is still `old` at the deadline.
  bool wait_while(std::uint32_t old, Clock::time_point deadline = Clock::time_point::max());

 private:
  void wake();
  void sleep_while(std::uint32_t old, Clock::duration longest);

  std::atomic<std::uint32_t> value_ = 0;
  std::atomic<int> sleepers_ = 0;
};

}  // namespace lockstep
