#include "lockstep/strategy/comm/nccl/gpu_collectives.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stop_token>
#include <utility>

#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/contracts.h>

namespace lockstep {
namespace {

std::vector<Event> events_on(const std::vector<LogicalDevice>& gpus) {
  std::vector<Event> events;
  for (const LogicalDevice& gpu : gpus) events.emplace_back(gpu);
  return events;
}

}  // namespace

GpuCollective::GpuCollective(const std::vector<LogicalDevice>& gpus)
    : state_(std::make_shared<State>(
          State{.parts = std::vector<std::vector<GpuPart>>(gpus.size()), .computed = events_on(gpus)})) {}

struct GpuCollectives::State {
  struct Submission {
    const char* what;
    std::shared_ptr<const GpuCollective::State> collective;
  };

  /// Waits up to twice the timeout, so that the communicators, which fail after the timeout, can report their error
  /// first. Returns whether all collectives have been enqueued.
  bool try_wait(std::unique_lock<std::mutex>& lock);
  /// Same as try_wait; if NCCL is stuck in a call, also drops the later collectives, whose memory may be freed.
  void wait_or_drop(std::unique_lock<std::mutex>& lock);
  void serve(const std::stop_token& stop);
  void enqueue(const Submission& submission);

  std::vector<LogicalDevice> gpus;  ///< by replica
  std::unique_ptr<GpuCommunicators> communicators;
  std::chrono::milliseconds timeout;
  std::vector<Event> done;  ///< by replica: the end of the last enqueued collective

  std::mutex mutex{};  ///< protects the following members
  std::condition_variable_any changed{};
  std::deque<Submission> waiting{};  ///< including the one being enqueued
  std::size_t enqueued = 0;
  bool is_stuck = false;
  std::exception_ptr error{};  ///< later collectives are dropped until a replica has thrown it
};

GpuCollectives::GpuCollectives(const std::vector<LogicalDevice>& gpus, std::unique_ptr<GpuCommunicators> communicators,
                               std::chrono::milliseconds timeout)
    : state_(new State{
          .gpus = gpus, .communicators = std::move(communicators), .timeout = timeout, .done = events_on(gpus)}) {
  thread_ = std::jthread([state = state_](const std::stop_token& stop) { state->serve(stop); });
}

GpuCollectives::~GpuCollectives() {
  std::unique_lock lock(state_->mutex);
  if (!state_->is_stuck) state_->wait_or_drop(lock);
  if (state_->waiting.empty()) return;  // thread_ ends
  log_warning("NCCL has not returned from {}: a thread stays in the call", state_->waiting.front().what);
  state_->communicators->abandon();
  lock.unlock();
  thread_.request_stop();
  thread_.detach();
}

void GpuCollectives::submit(const char* what, const GpuCollective& collective) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.push_back({what, collective.state_});
  }
  state_->changed.notify_all();
}

std::size_t GpuCollectives::submitted() const {
  const std::lock_guard lock(state_->mutex);
  return state_->enqueued + state_->waiting.size();
}

void GpuCollectives::set_parts(GpuCollective& collective, int replica, std::span<const GpuPart> parts) {
  {
    const std::lock_guard lock(state_->mutex);
    require<DeviceError>(!state_->is_stuck,
                         "NCCL is still in a call of a step that failed; `lockstep doctor` looks for reasons");
  }
  const auto own = static_cast<std::size_t>(replica);
  collective.state_->parts[own].assign(parts.begin(), parts.end());
  collective.state_->computed[own].record({state_->gpus[own]});
}

void GpuCollectives::join(int replica) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  require<Timeout>(state.try_wait(lock),
                   "NCCL has not enqueued {} of {} collectives within {} s; `lockstep doctor` looks for reasons",
                   state.waiting.size(), state.enqueued + state.waiting.size(),
                   std::chrono::duration<double>(2 * state.timeout).count());
  if (const auto error = std::exchange(state.error, nullptr)) std::rethrow_exception(error);
  const auto own = static_cast<std::size_t>(replica);
  if (state.enqueued > 0) Stream{state.gpus[own]}.wait(state.done[own]);
}

void GpuCollectives::wait_until_enqueued() {
  std::unique_lock lock(state_->mutex);
  if (!state_->is_stuck) state_->wait_or_drop(lock);
}

void GpuCollectives::abandon_step() {
  std::unique_lock lock(state_->mutex);
  state_->wait_or_drop(lock);
  state_->error = nullptr;
}

bool GpuCollectives::State::try_wait(std::unique_lock<std::mutex>& lock) {
  return changed.wait_for(lock, 2 * timeout, [&] { return waiting.empty(); });
}

void GpuCollectives::State::wait_or_drop(std::unique_lock<std::mutex>& lock) {
  is_stuck = !try_wait(lock);
  if (is_stuck) waiting.erase(waiting.begin() + 1, waiting.end());
}

void GpuCollectives::State::serve(const std::stop_token& stop) {
  std::unique_lock lock(mutex);
  while (changed.wait(lock, stop, [&] { return !waiting.empty(); })) {
    const Submission next = waiting.front();
    std::exception_ptr failure = error;
    lock.unlock();
    try {
      if (!failure) enqueue(next);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    error = failure;
    waiting.pop_front();
    ++enqueued;
    changed.notify_all();
  }
}

void GpuCollectives::State::enqueue(const Submission& submission) {
  const GpuCollective::State& collective = *submission.collective;
  for (std::size_t replica = 0; replica < gpus.size(); ++replica) {
    const ContextScope there(context_on(gpus[replica]));
    const Stream communication{gpus[replica], StreamKind::communication};
    communication.wait(collective.computed[replica]);
    if (contracts::checked())
      for (const GpuPart& part : collective.parts[replica])
        check_part(submission.what, communication, part, communicators->ranks());
  }
  communicators->enqueue(submission.what, collective.parts);
  for (std::size_t replica = 0; replica < gpus.size(); ++replica) {
    const ContextScope there(context_on(gpus[replica]));
    done[replica].record({gpus[replica], StreamKind::communication});
  }
}

}  // namespace lockstep
