#pragma once

#include <algorithm>
#include <cstdint>

namespace lockstep {

/// Number of threads that ops called from this thread may use: all cores by default, the device's `cores` on a
/// replica's thread, and 1 inside a parallel_for of several ranges.
int compute_threads();

/// Sets the calling thread's compute_threads() during its lifetime.
class ComputeThreadsScope {
 public:
  /// `threads` < 1 counts as 1. The destructor restores the previous number.
  explicit ComputeThreadsScope(int threads);
  ~ComputeThreadsScope();
  ComputeThreadsScope(const ComputeThreadsScope&) = delete;
  ComputeThreadsScope& operator=(const ComputeThreadsScope&) = delete;

 private:
  int previous_threads_;
};

/// The threads that run a parallel loop beside the calling thread.
enum class LoopThreads {
  /// The calling thread's OpenMP team, which oneDNN also uses in builds with g++. After a loop, its threads briefly
  /// poll for the next loop, because ops follow each other. After such a loop, a child process made by fork must not
  /// run another such loop.
  openmp,
  onetbb  ///< oneTBB's threads, which sleep between loops; for the input pipeline, which runs beside the ops
};

namespace detail {
/// Calls call(body, chunk) for each chunk in [0, chunks). Not a template, so that the libraries' templates are compiled
/// once and not for every loop.
void run_chunks(LoopThreads threads, int chunks, void (*call)(const void* body, int chunk), const void* body);
}  // namespace detail

/// Calls body(begin, end) concurrently for ranges that partition [0, n), on up to compute_threads() threads, and waits
/// for all calls. Ranges have at least `grain` elements, unless n < grain. If calls have thrown, rethrows one of their
/// exceptions.
template <LoopThreads threads = LoopThreads::openmp, class Body>
void parallel_for(std::int64_t n, std::int64_t grain, Body&& body) {
  const std::int64_t wanted = n / std::max<std::int64_t>(1, grain);
  const auto chunks = static_cast<int>(std::clamp<std::int64_t>(wanted, n > 0 ? 1 : 0, compute_threads()));
  const auto range = [&](int chunk) { body(n * chunk / chunks, n * (chunk + 1) / chunks); };
  if (chunks <= 1) {
    if (chunks == 1) range(0);
    return;
  }
  using Range = decltype(range);
  detail::run_chunks(
      threads, chunks, [](const void* body_of_all, int chunk) { (*static_cast<const Range*>(body_of_all))(chunk); },
      &range);
}

}  // namespace lockstep
