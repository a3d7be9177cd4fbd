#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockstep {

/// A number that threads wait on until it changes. A change wakes them, with a system call only if a thread sleeps.
class Futex {
 public:
  /// The clock of deadlines.
  using Clock = std::chrono::steady_clock;

  /// `threads`: number of threads that use it concurrently. Waiting threads poll for a moment before they sleep. If the
  /// process has fewer cores than `threads`, the threads yield between polls.
  explicit Futex(int threads);

  /// The current number.
  std::uint32_t load() const { return value_.load(); }
  ///@{
  /// Change the number and wake the waiting threads.
  void add(std::uint32_t amount);
  void set_bits(std::uint32_t bits);
  ///@}
  /// If the number is `expected`, replaces it by `desired` and wakes the waiting threads; else returns false.
  bool exchange(std::uint32_t expected, std::uint32_t desired);
  /// Clears `bits` without waking threads. Precondition: no thread waits.
  void clear_bits(std::uint32_t bits) { value_ &= ~bits; }

  /// Blocks while the number is `old`. Returns false if it is still `old` at the deadline.
  bool wait_while(std::uint32_t old, Clock::time_point deadline = Clock::time_point::max());

 private:
  bool look_while(std::uint32_t old);
  void wake();
  void sleep_while(std::uint32_t old, Clock::duration longest);

  const bool each_has_a_core_;
  std::atomic<Clock::time_point> next_look_{};  ///< if cores are shared, threads do not poll before this time
  std::atomic<std::uint32_t> value_ = 0;
  std::atomic<int> sleepers_ = 0;
};

}  // namespace lockstep
