#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/thread/futex.h>

namespace lockstep {

/// The host threads of a strategy's replicas, which run until the team is destroyed. A replica's work always runs on
/// the same thread, because library handles and caches are per thread.
class ThreadTeam {
 public:
  /// Starts one thread for each context, of which there must be at least one. Ops called on such a thread use up to
  /// context.device.cores threads.
  explicit ThreadTeam(const std::vector<ExecutionContext>& contexts);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Calls job(i) on the thread of contexts[i], for all i, and blocks until all calls have returned. Then, if calls
  /// have thrown, rethrows the exception of the call with the lowest i. Must not be called concurrently or from a job.
  void run(const std::function<void(int)>& job);

 private:
  void loop(int member, const ExecutionContext& context);
  void stop();

  Futex begun_;  ///< number of rounds begun; the threads wait for the next
  Futex ended_;  ///< number of rounds ended; `run` waits for its own
  std::atomic<int> running_ = 0;
  const std::function<void(int)>* job_ = nullptr;  ///< job of the round; null: the threads end
  std::vector<std::exception_ptr> errors_;         ///< by member
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
