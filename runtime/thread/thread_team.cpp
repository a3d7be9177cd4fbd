#include <utility>

#include <lockstep/runtime/thread/parallel.h>
#include <lockstep/runtime/thread/thread_team.h>

namespace lockstep {

ThreadTeam::ThreadTeam(const std::vector<ExecutionContext>& contexts) : errors_(contexts.size()) {
  try {
    for (const ExecutionContext& context : contexts)
      threads_.emplace_back([this, member = static_cast<int>(threads_.size()), context] { loop(member, context); });
  } catch (...) {  // no more threads: those that run must not outlive this
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop(); }

void ThreadTeam::stop() {
  job_ = nullptr;
  ++round_;
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::run(const std::function<void(int)>& job) {
  job_ = &job;
  running_ = static_cast<int>(threads_.size());
  ++round_;
  round_.notify_all();
  for (int running = running_; running != 0; running = running_) running_.wait(running);
  std::exception_ptr first;
  for (std::exception_ptr& error : errors_)
    if (const std::exception_ptr own = std::exchange(error, nullptr); own && !first) first = own;
  if (first) std::rethrow_exception(first);
}

void ThreadTeam::loop(int member, const ExecutionContext& context) {
  const ContextScope context_scope(context);
  const ComputeThreadsScope threads(context.device.cores);
  for (int round = 0;; ++round) {  // a thread sees every round: the next starts when all have ended this one
    round_.wait(round);
    if (job_ == nullptr) return;
    try {
      (*job_)(member);
    } catch (...) {
      errors_[static_cast<std::size_t>(member)] = std::current_exception();
    }
    if (--running_ == 0) running_.notify_one();
  }
}

}  // namespace lockstep
