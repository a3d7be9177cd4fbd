#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace lockstep {

/// What the handles to a copy of a trainable variable and to its views share: its name, and when its value changed
/// last. Time is the number of changes of all parameters of the program. Thread-safe.
class Parameter {
 public:
  /// `name` is for errors.
  explicit Parameter(std::string name) : name_(std::move(name)) {}
  /// The name given at construction.
  const std::string& name() const { return name_; }
  /// Records that the value changes now, so that tapes do not differentiate ops on the value before. `time`: a result
  /// of new_time, which parameters that change together may share; the latest one counts.
  void set_changed(std::uint64_t time = new_time()) {
    std::uint64_t known = changed_.load(std::memory_order_relaxed);
    while (known < time && !changed_.compare_exchange_weak(known, time, std::memory_order_relaxed)) {
    }
  }
  /// Whether the value has changed since `time`, a result of `now`.
  bool changed_since(std::uint64_t time) const { return changed_.load(std::memory_order_relaxed) > time; }
  /// The current time.
  static std::uint64_t now() { return time_.load(std::memory_order_relaxed); }
  /// The time of a change, after which `now` returns it or a later one.
  static std::uint64_t new_time() { return time_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  static inline std::atomic<std::uint64_t> time_ = 0;

  std::string name_;
  std::atomic<std::uint64_t> changed_ = 0;
};

}  // namespace lockstep
