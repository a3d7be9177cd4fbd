#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <lockstep/runtime/core/elements.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/thread/parallel.h>
#include <lockstep/runtime/thread/wait_timer.h>

namespace lockstep {

/// Produces values ahead on one background thread, in the context of the thread that created the queue. Parallel loops
/// of the background thread use ExecutionContext::ahead_threads threads. The destructor waits only for the value being
/// produced.
template <class T>
class BackgroundQueue {
 public:
  /// Stores up to `capacity` values, in addition to the one being produced. Precondition: capacity >= 1.
  BackgroundQueue(std::int64_t capacity, Elements<T> values)
      : capacity_(static_cast<std::size_t>(capacity)),
        values_(std::move(values)),
        thread_([this, context = current_context()](const std::stop_token& stop) { produce(stop, context); }) {}

  /// The next value; empty at the end and in all later calls. An exception from `values` is thrown once, after the
  /// values before it.
  std::optional<T> next() {
    const WaitTimer timer;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !queue_.empty() || ended_; });
    if (queue_.empty()) {
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
      return std::nullopt;
    }
    std::optional<T> value = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return value;
  }

 private:
  void produce(const std::stop_token& stop, const ExecutionContext& context) {
    const ContextScope where(context);
    const ComputeThreadsScope share(context.ahead_threads);
    std::exception_ptr error;
    try {
      while (produce_one(stop)) {
      }
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    ended_ = true;
    changed_.notify_all();
  }

  /// Returns false if no more values are to be produced: at the end of `values_`, or when the queue is destroyed.
  bool produce_one(const std::stop_token& stop) {
    std::optional<T> value = values_.next();
    if (!value) return false;
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return queue_.size() < capacity_; })) return false;
    queue_.push_back(std::move(*value));
    lock.unlock();
    changed_.notify_all();
    return !stop.stop_requested();
  }

  std::size_t capacity_;
  Elements<T> values_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<T> queue_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  ///< last member: starts after, and is stopped and joined before, the members that it uses
};

}  // namespace lockstep
