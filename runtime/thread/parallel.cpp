#include "lockstep/runtime/thread/parallel.h"

#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep {

/// The threads that run one thread's parallel loops.
class ComputeArena {
 public:
  explicit ComputeArena(int threads) : arena_(threads) {}
  template <class Work>
  void execute(const Work& work) {
    arena_.execute(work);
  }

 private:
  tbb::task_arena arena_;
};

namespace {

thread_local int threads_of_this_thread = 0;  // 0: not yet known
thread_local std::shared_ptr<ComputeArena> arena_of_this_thread;

}  // namespace

int compute_threads() {
  if (threads_of_this_thread == 0) threads_of_this_thread = available_cores();
  return threads_of_this_thread;
}

ComputeThreadsScope::ComputeThreadsScope(int threads)
    : previous_threads_(compute_threads()), previous_arena_(std::exchange(arena_of_this_thread, nullptr)) {
  threads_of_this_thread = std::max(1, threads);
}

ComputeThreadsScope::~ComputeThreadsScope() {
  threads_of_this_thread = previous_threads_;
  arena_of_this_thread = std::move(previous_arena_);
}

#if defined(__SANITIZE_THREAD__)
#define LOCKSTEP_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSTEP_THREAD_SANITIZER 1
#endif
#endif

#ifdef LOCKSTEP_THREAD_SANITIZER
// Plain threads replace oneTBB, which is not built with the thread sanitizer: the sanitizer would report every
// hand-over between its threads as a race.
void detail::run_chunks(int chunks, void (*call)(const void* body, int chunk), const void* body) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(chunks));
  const auto run = [&](int chunk) {
    const ComputeThreadsScope serial(1);
    try {
      call(body, chunk);
    } catch (...) {
      errors[static_cast<std::size_t>(chunk)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int chunk = 1; chunk < chunks; ++chunk) others.emplace_back(run, chunk);
    run(0);
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}
#else
void detail::run_chunks(int chunks, void (*call)(const void* body, int chunk), const void* body) {
  if (!arena_of_this_thread) arena_of_this_thread = std::make_shared<ComputeArena>(compute_threads());
  arena_of_this_thread->execute([=] {
    tbb::parallel_for(
        0, chunks,
        [=](int chunk) {
          const ComputeThreadsScope serial(1);
          call(body, chunk);
        },
        tbb::static_partitioner());
  });
}
#endif

}  // namespace lockstep
