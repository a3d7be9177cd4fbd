#include "lockstep/runtime/thread/parallel.h"

#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <lockstep/runtime/device/registry.h>

namespace lockstep {
namespace {

thread_local int threads_of_this_thread = 0;  // 0: not yet known

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
constexpr bool thread_sanitizer = true;
#else
constexpr bool thread_sanitizer = false;
#endif

/// With as many threads as oneDNN, also for few chunks: for a smaller team, libgomp would end the other threads.
template <class Run>
void run_on_openmp(int chunks, const Run& run) {
#pragma omp parallel for num_threads(compute_threads()) schedule(static, 1)
  for (int chunk = 0; chunk < chunks; ++chunk) run(chunk);
}

template <class Run>
void run_on_onetbb(int chunks, const Run& run) {
  thread_local std::unique_ptr<tbb::task_arena> arena;
  if (!arena || arena->max_concurrency() < chunks) arena = std::make_unique<tbb::task_arena>(chunks);
  arena->execute([&] { tbb::parallel_for(0, chunks, run, tbb::static_partitioner()); });
}

template <class Run>
void run_on_new_threads(int chunks, const Run& run) {
  std::vector<std::jthread> others;
  for (int chunk = 1; chunk < chunks; ++chunk) others.emplace_back(run, chunk);
  run(0);
}

}  // namespace

int compute_threads() {
  if (threads_of_this_thread == 0) threads_of_this_thread = available_cores();
  return threads_of_this_thread;
}

ComputeThreadsScope::ComputeThreadsScope(int threads) : previous_threads_(compute_threads()) {
  threads_of_this_thread = std::max(1, threads);
}

ComputeThreadsScope::~ComputeThreadsScope() { threads_of_this_thread = previous_threads_; }

void detail::run_chunks(LoopThreads threads, int chunks, void (*call)(const void* body, int chunk), const void* body) {
  std::exception_ptr error;
  std::once_flag failed;
  const auto run = [&](int chunk) {
    const ComputeThreadsScope serial(1);
    try {
      call(body, chunk);
    } catch (...) {
      std::call_once(failed, [&] { error = std::current_exception(); });
    }
  };
  // Neither library is built with the thread sanitizer, which would report every hand-over between its threads as a
  // race.
  if (thread_sanitizer)
    run_on_new_threads(chunks, run);
  else if (threads == LoopThreads::openmp)
    run_on_openmp(chunks, run);
  else
    run_on_onetbb(chunks, run);
  if (error) std::rethrow_exception(error);
}

}  // namespace lockstep
