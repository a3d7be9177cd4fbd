#include <lockstep/runtime/thread/parallel.h>

#include <utility>

#include <lockstep/runtime/device/registry.h>

namespace lockstep {
namespace {

thread_local int threads_of_this_thread = 0;  // 0: not yet asked
thread_local std::shared_ptr<tbb::task_arena> arena_of_this_thread;

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

tbb::task_arena& detail::compute_arena() {
  if (!arena_of_this_thread) arena_of_this_thread = std::make_shared<tbb::task_arena>(compute_threads());
  return *arena_of_this_thread;
}

}  // namespace lockstep
