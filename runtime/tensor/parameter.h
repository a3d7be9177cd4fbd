#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace lockstep {

/// The name of a trainable variable's copy and the time when its value last changed; shared by all handles to the copy
/// and its views. Time is the number of changes of all parameters of the program so far. Thread-safe.
class Parameter {
 public:
  /// `name` identifies the parameter in errors.
  explicit Parameter(std::string name) : name_(std::move(name)) {}
  /// The name given at construction.
  const std::string& name() const { return name_; }
  /// Records a change of the value at `time`, a result of new_time. Tapes then refuse to differentiate ops that read
  /// the old value. Parameters that change together may share one `time`; of several times, the latest counts.
  void set_changed(std::uint64_t time = new_time()) {
    std::uint64_t known = changed_.load(std::memory_order_relaxed);
    while (known < time && !changed_.compare_exchange_weak(known, time, std::memory_order_relaxed)) {
    }
  }
  /// Whether the value has changed since `time`, a result of `now`.
  bool changed_since(std::uint64_t time) const { return changed_.load(std::memory_order_relaxed) > time; }
  /// The current time.
  static std::uint64_t now() { return time_.load(std::memory_order_relaxed); }
  /// Advances the time and returns it, for set_changed.
  static std::uint64_t new_time() { return time_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  static inline std::atomic<std::uint64_t> time_ = 0;

  std::string name_;
  std::atomic<std::uint64_t> changed_ = 0;
};

}  // namespace lockstep
