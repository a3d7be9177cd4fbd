#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockstep {

/// A number that threads wait on until it changes. Changing it wakes them, which costs a call of the system only when
/// one sleeps.
class Futex {
 public:
  /// Of deadlines.
  using Clock = std::chrono::steady_clock;

  /// `threads`: how many use it concurrently. Before they sleep, waiting threads poll for a moment: at once
  /// where each has a core, else after letting others run.
  explicit Futex(int threads);

  /// The number as it is now.
  std::uint32_t load() const { return value_.load(); }
  ///@{
  /// Changes the number, and wakes those who wait.
  void add(std::uint32_t amount);
  void set_bits(std::uint32_t bits);
  ///@}
  /// Puts `desired` in place of `expected`; false when it is another number.
  bool exchange(std::uint32_t expected, std::uint32_t desired);
  /// No one is woken. Precondition: nobody waits.
  void clear_bits(std::uint32_t bits) { value_ &= ~bits; }

  /// Blocks while it is `old`. False when it is still `old` at the deadline.
  bool wait_while(std::uint32_t old, Clock::time_point deadline = Clock::time_point::max());

 private:
  bool look_while(std::uint32_t old);
  void wake();
  void sleep_while(std::uint32_t old, Clock::duration longest);

  const bool each_has_a_core_;
  std::atomic<Clock::time_point> next_look_{};  ///< where cores are shared: none before
  std::atomic<std::uint32_t> value_ = 0;
  std::atomic<int> sleepers_ = 0;
};

}  // namespace lockstep
