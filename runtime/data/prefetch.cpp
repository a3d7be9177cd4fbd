#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <lockstep/runtime/data/stage.h>
#include <lockstep/runtime/thread/context.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::detail {
namespace {

class PrefetchCursor final : public Cursor {
 public:
  PrefetchCursor(std::unique_ptr<Cursor> input, std::int64_t count)
      : input_(std::move(input)),
        capacity_(static_cast<std::size_t>(count)),
        thread_([this, context = current_context()](const std::stop_token& stop) { produce(stop, context); }) {}

  std::optional<Example> next() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !queue_.empty() || ended_; });
    if (queue_.empty()) {
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
      return std::nullopt;
    }
    Example element = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return element;
  }

 private:
  void produce(const std::stop_token& stop, const ExecutionContext& context) {
    const ContextScope where(context);
    const ComputeThreadsScope one(1);  // the other cores belong to the replicas
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

  /// False when there is nothing more to be made.
  bool produce_one(const std::stop_token& stop) {
    std::optional<Example> element = input_->next();
    if (!element) return false;
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return queue_.size() < capacity_; })) return false;
    queue_.push_back(std::move(*element));
    lock.unlock();
    changed_.notify_all();
    return !stop.stop_requested();
  }

  std::unique_ptr<Cursor> input_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Example> queue_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  ///< last: it starts when the rest is there, and is stopped and joined before the rest goes
};

class Prefetch final : public Stage {
 public:
  Prefetch(StagePtr input, std::int64_t count) : input_(std::move(input)), count_(count) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<PrefetchCursor>(input_->open(epoch), count_);
  }
  std::optional<std::int64_t> size() const override { return input_->size(); }

 private:
  StagePtr input_;
  std::int64_t count_;
};

}  // namespace

StagePtr make_prefetch(StagePtr input, std::int64_t count) {
  return std::make_shared<Prefetch>(std::move(input), count);
}

}  // namespace lockstep::detail
