#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Shared kernels are grids of independent pieces of work, written once against an executor: CudaExecutor
// (cuda_executor.cuh) runs them on a GPU, in a test on one that the CPU emulates
// (tests/kernels/emulated_gpu); HostExecutor (host_executor.h) runs them on the CPU. What an
// executor `on` can do:
//
//   on.for_each(n, f)              f(i) for each i in [0, n), in any order or at once.
//   on.teams(count, n, f)          f(team, group) for each group in [0, count), each by a team of threads of its own.
//                                  `n` is how many elements a team goes through, from which its width follows.
//   on.columns(outer, n, inner, f) For each (o, k) of (outer, inner): f.finish(o, k, v), where v is f.start() combined
//                                  by f.combine(a, b) with f.load(o, i, k) of each i in [0, n). Neighbors along
//                                  `inner` are read together.
//   on.rows(n, inner, f)           For each (i, k) of (n, inner): f.store(kept, f.load(i, k), i, k), where kept is
//                                  f.keep(k), made once for many i. What is loaded may be stored over.
//   on.sort(keys, bound)           The i64 keys in [0, bound), sorted, and the place that each had; equal ones in the
//                                  order of their places.
//   on.faults(what)                An object whose operator()(place) reports that `what` has an index outside its
//                                  range at this place.
//   on.first_fault(faults)         What the op then returns: the first such place or -1. A GPU always answers -1, since
//                                  it would have to wait; there the fault is thrown by Gpu::synchronize.
//   on.value_at(pointer)           The double there; waits for all work before.
//
// What a team can do, each called by all of its threads alike:
//
//   team.reduce(n, start, load, combine)  start combined with load(i) of each i in [0, n), known to all threads.
//   team.scan(n, start, load, combine, store)
//                                         store(i, before, through) for each i in [0, n): start combined with load(j)
//                                         of each j before i, in their order, and that with load(i). `start` changes
//                                         nothing that it is combined with.
//   team.each(n, body)                    body(i) for each i in [0, n); by the thread that had i in reduce.
//   team.once(body)                       body(), by one thread.
//
// The order in which values are combined depends on the sizes alone. Functions given to an executor are copied to the
// device: they hold plain values and pointers, and are LOCKSTEP_HOST_DEVICE. Index arithmetic is done in 64 bits; the
// compiler divides in 32 where the values allow.

namespace lockstep::kernels {

using Index = std::int64_t;

/// Threads of a team that goes through n elements: a warp, or a block.
constexpr int narrow_team = 32;
constexpr int wide_team = 256;
constexpr int team_width(Index n) { return n <= 1024 ? narrow_team : wide_team; }

/// Neighboring elements that a thread of a team scans by itself, before the team continues with the next ones.
constexpr int scan_run = 4;

/// A block of `columns` or `rows` covers this many neighbors along `inner`, a power of two, by column_depth threads
/// each.
constexpr int column_width(Index inner) {
  int width = 1;
  while (width < inner && width < 32) width *= 2;
  return width;
}
constexpr int column_depth(Index inner) { return wide_team / column_width(inner); }
/// Blocks that lie side by side along `inner`.
constexpr Index column_tiles(Index inner) { return (inner + column_width(inner) - 1) / column_width(inner); }

/// The largest value that a team combines, in bytes, and what its alignment divides.
constexpr int most_value_bytes = 16;
/// The largest that `columns` combines.
constexpr int most_column_bytes = 128;

/// What sorting gives, both i64.
struct SortedKeys {
  Tensor keys;
  Tensor places;
};

}  // namespace lockstep::kernels
