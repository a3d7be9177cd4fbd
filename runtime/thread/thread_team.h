#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/thread/futex.h>

namespace lockstep {

/// The host threads of a strategy's replicas, for as long as it lives: library handles and caches are per thread, so
/// that a replica's work always runs on the same one.
class ThreadTeam {
 public:
  /// Starts a thread for each context, with its device's share of the cores.
  explicit ThreadTeam(const std::vector<ExecutionContext>& contexts);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Calls job(member) on every thread and blocks until all have ended. Rethrows the exception of the first member that
  /// threw. One call at a time.
  void run(const std::function<void(int)>& job);

 private:
  void loop(int member, const ExecutionContext& context);
  void stop();

  Futex begun_;  ///< rounds; the threads wait for the next
  Futex ended_;  ///< rounds; `run` waits for its own
  std::atomic<int> running_ = 0;
  const std::function<void(int)>* job_ = nullptr;  ///< of the round; null to end the threads
  std::vector<std::exception_ptr> errors_;         ///< by member
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
