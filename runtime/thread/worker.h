#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include <lockstep/runtime/thread/context.h>

namespace lockstep {

/// One replica's host thread for the life of its strategy: library handles and caches are per thread, so a replica's
/// work always runs on the same one. Takes one job at a time; a job's exception is kept and handed over by `wait`.
class Worker {
 public:
  /// Starts the thread with `context` and its device's share of the cores.
  explicit Worker(const ExecutionContext& context);
  /// Waits for the job in hand.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Starts `job`. Precondition: the job before has been waited for.
  void submit(std::function<void()> job);
  /// Blocks until the job has ended; its exception, or null.
  std::exception_ptr wait();

 private:
  void loop(const ExecutionContext& context);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;  ///< empty when there is none
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;  ///< last, so that it starts when the rest is there
};

}  // namespace lockstep
