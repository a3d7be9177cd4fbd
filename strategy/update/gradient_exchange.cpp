#include "lockstep/strategy/update/gradient_exchange.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/comm/collective_names.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {

GradientExchange::~GradientExchange() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GradientExchange::add(std::span<float* const> gradients, std::span<const FlatRange> ranges, std::size_t range) {
  const std::lock_guard lock(mutex_);
  if (!step_)
    step_ = {.gradients = {gradients.begin(), gradients.end()},
             .ranges = {ranges.begin(), ranges.end()},
             .arrived = std::vector<int>(ranges.size())};
  require<LogicError>(std::ranges::equal(step_->gradients, gradients),
                      "the replicas exchange the gradients of different models: each must train the same one");
  if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  if (++step_->arrived[range] == replicas_) changed_.notify_all();
}

bool GradientExchange::begun() const {
  const std::lock_guard lock(mutex_);
  return step_.has_value();
}

void GradientExchange::finish() {
  std::unique_lock lock(mutex_);
  const auto all = std::views::iota(std::size_t{0}, step_->ranges.size());
  require<LogicError>(error_ || std::ranges::all_of(all, [&](std::size_t range) { return is_final(range); }),
                      "the replicas provide their gradients in different ways: each must make the same calls");
  changed_.wait(lock, [&] { return error_ || step_->done == step_->ranges.size(); });
  step_.reset();
  if (const auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

void GradientExchange::sum_over_workers(float* gradients, std::span<const FlatRange> ranges) {
  std::vector<WorkerRange> parts;
  for (const FlatRange& range : ranges) parts.push_back({gradients + range.begin, range.end - range.begin});
  cluster_.agree(gradients_name, "the number of gradients is",
                 fmt::format("{}", ranges.empty() ? 0 : ranges.back().end));
  all_reduce_ranges(cluster_, gradients_name, ReduceOp::sum, DType::f32, parts, 0, scratch_);
}

void GradientExchange::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || has_range(); });
    if (stopping_) return;
    const std::vector<float*> gradients = step_->gradients;
    const FlatRange range = step_->ranges[step_->done];
    const bool first = step_->done == 0;
    const std::int64_t all = step_->ranges.back().end;
    lock.unlock();
    std::exception_ptr error;
    try {
      if (first)
        cluster_.agree(gradients_name, "the number of gradients is", fmt::format("{}", all), Channel::gradients);
      if (replicas_ > 1) add_up_range(gradients, gradients.front(), range);
      const WorkerRange part{gradients.front() + range.begin, range.end - range.begin};
      all_reduce_ranges(cluster_, gradients_name, ReduceOp::sum, DType::f32, std::span(&part, 1), 0, scratch_,
                        Channel::gradients);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error)
      error_ = error;
    else if (step_)
      ++step_->done;
    changed_.notify_all();
  }
}

}  // namespace lockstep
