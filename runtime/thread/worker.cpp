#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/thread/parallel.h>
#include <lockstep/runtime/thread/worker.h>

namespace lockstep {

Worker::Worker(const ExecutionContext& context) : thread_([this, context] { loop(context); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    require<BrokenInvariant>(!job_, "a worker was given a job before its last one was waited for");
    job_ = std::move(job);
    error_ = nullptr;
  }
  changed_.notify_all();
}

std::exception_ptr Worker::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !job_; });
  return std::exchange(error_, nullptr);
}

void Worker::loop(const ExecutionContext& context) {
  const ContextScope context_scope(context);
  const ComputeThreadsScope threads(context.device.cores);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return job_ || stopping_; });
    if (!job_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      job_();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    job_ = nullptr;
    error_ = error;
    changed_.notify_all();
  }
}

}  // namespace lockstep
