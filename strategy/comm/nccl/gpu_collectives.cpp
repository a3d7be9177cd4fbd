#include "lockstep/strategy/comm/nccl/gpu_collectives.h"

#include <utility>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/contracts.h>

namespace lockstep {

GpuCollective::GpuCollective(const std::vector<LogicalDevice>& gpus) : parts_(gpus.size()) {
  for (const LogicalDevice& gpu : gpus) computed_.emplace_back(gpu);
}

GpuCollectives::GpuCollectives(const std::vector<LogicalDevice>& gpus, std::unique_ptr<GpuCommunicators> communicators,
                               std::chrono::milliseconds timeout)
    : gpus_(gpus), communicators_(std::move(communicators)), timeout_(timeout) {
  for (const LogicalDevice& gpu : gpus) done_.emplace_back(gpu);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

GpuCollectives::~GpuCollectives() {
  wait_until_enqueued();
  thread_ = {};
}

void GpuCollectives::submit(const char* what, const GpuCollective& collective) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({what, &collective});
  }
  changed_.notify_all();
}

std::size_t GpuCollectives::submitted() const {
  const std::lock_guard lock(mutex_);
  return enqueued_ + waiting_.size();
}

void GpuCollectives::set_parts(GpuCollective& collective, int replica, std::span<const GpuPart> parts) {
  {
    const std::lock_guard lock(mutex_);
    require<DeviceError>(!is_stuck_,
                         "NCCL is still in a call of a step that failed; `lockstep doctor` looks for reasons");
  }
  const auto own = static_cast<std::size_t>(replica);
  collective.parts_[own].assign(parts.begin(), parts.end());
  collective.computed_[own].record({gpus_[own]});
}

void GpuCollectives::join(int replica) {
  std::unique_lock lock(mutex_);
  require<Timeout>(try_wait(lock),
                   "NCCL has not enqueued {} of {} collectives within {} s; `lockstep doctor` looks for reasons",
                   waiting_.size(), enqueued_ + waiting_.size(), std::chrono::duration<double>(2 * timeout_).count());
  if (const auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
  const auto own = static_cast<std::size_t>(replica);
  if (enqueued_ > 0) Stream{gpus_[own]}.wait(done_[own]);
}

void GpuCollectives::wait_until_enqueued() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty(); });
}

bool GpuCollectives::try_wait(std::unique_lock<std::mutex>& lock) {
  return changed_.wait_for(lock, 2 * timeout_, [&] { return waiting_.empty(); });
}

void GpuCollectives::abandon_step() {
  std::unique_lock lock(mutex_);
  is_stuck_ = !try_wait(lock);
  error_ = nullptr;
}

void GpuCollectives::serve(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) {
    const Submission next = waiting_.front();
    std::exception_ptr error = error_;
    lock.unlock();
    try {
      if (!error) enqueue(next);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    waiting_.pop_front();
    ++enqueued_;
    changed_.notify_all();
  }
}

void GpuCollectives::enqueue(const Submission& submission) {
  const GpuCollective& collective = *submission.collective;
  for (std::size_t replica = 0; replica < gpus_.size(); ++replica) {
    const ContextScope there(context_on(gpus_[replica]));
    const Stream communication{gpus_[replica], StreamKind::communication};
    communication.wait(collective.computed_[replica]);
    if (contracts::checked())
      for (const GpuPart& part : collective.parts_[replica])
        check_part(submission.what, communication, part, communicators_->ranks());
  }
  communicators_->enqueue(submission.what, collective.parts_);
  for (std::size_t replica = 0; replica < gpus_.size(); ++replica) {
    const ContextScope there(context_on(gpus_[replica]));
    done_[replica].record({gpus_[replica], StreamKind::communication});
  }
}

}  // namespace lockstep
