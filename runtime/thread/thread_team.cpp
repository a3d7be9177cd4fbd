#include "lockstep/runtime/thread/thread_team.h"

#include <utility>

#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {

ThreadTeam::ThreadTeam(const std::vector<ExecutionContext>& contexts)
    : begun_(static_cast<int>(contexts.size()) + 1),  // the members and the caller of `run`
      ended_(static_cast<int>(contexts.size()) + 1),
      errors_(contexts.size()) {
  try {
    for (const ExecutionContext& context : contexts)
      threads_.emplace_back([this, member = static_cast<int>(threads_.size()), context] { loop(member, context); });
  } catch (...) {  // no more threads can be started: the running ones must not outlive this object
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop(); }

void ThreadTeam::stop() {
  job_ = nullptr;
  begun_.add(1);
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::run(const std::function<void(int)>& job) {
  job_ = &job;
  running_ = static_cast<int>(threads_.size());
  const std::uint32_t ended = ended_.load();
  begun_.add(1);
  ended_.wait_while(ended);
  std::exception_ptr first;
  for (std::exception_ptr& error : errors_)
    if (const std::exception_ptr own = std::exchange(error, nullptr); own && !first) first = own;
  if (first) std::rethrow_exception(first);
}

void ThreadTeam::loop(int member, const ExecutionContext& context) {
  const ContextScope context_scope(context);
  const ComputeThreadsScope threads(context.device.cores);
  for (std::uint32_t round = 0;; ++round) {  // no round is missed: the next begins after all members ended this one
    begun_.wait_while(round);
    if (job_ == nullptr) return;
    try {
      (*job_)(member);
    } catch (...) {
      errors_[static_cast<std::size_t>(member)] = std::current_exception();
    }
    if (--running_ == 0) ended_.add(1);
  }
}

}  // namespace lockstep
