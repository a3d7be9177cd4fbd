#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Shared kernels are grids of independent work items, written once against an executor. CudaExecutor
// (cuda_executor.cuh) runs them on a GPU or, in tests, on a GPU emulated on the CPU (tests/kernels/emulated_gpu);
// HostExecutor (host_executor.h) runs them on the CPU. Operations of an executor `on`, where f(i) is a call of f:
//
//   on.for_each(n, f)              f(i) for each i in [0, n), in any order or concurrently.
//   on.teams(count, n, f)          f(team, group) for each group in [0, count), with one team of threads per group.
//                                  `n` is the number of elements that a team processes; it determines the team's width.
//   on.columns(outer, n, inner, f) For each (o, k) of (outer, inner): f.finish(o, k, v), where v is f.start() combined
//                                  by f.combine(a, b) with f.load(o, i, k) for each i in [0, n). Combining f.start()
//                                  several times must not change v. Loads are coalesced along `inner`.
//   on.rows(n, inner, f)           For each (i, k) of (n, inner): f.store(kept, f.load(i, k), i, k), where kept is
//                                  f.keep(k), computed once for many i. store may overwrite what load read.
//   on.sort(keys, bound)           Sorts i64 keys in [0, bound) stably; returns the sorted keys and the position that
//                                  each had before. On GPUs, throws Unsupported for 2^31 keys or more.
//   on.faults(what)                An object whose operator()(place) reports that `what` has an index out of range at
//                                  position `place`.
//   on.first_fault(faults)         The kernel's return value: the first such position or -1. On GPUs always -1, since
//                                  the host would have to wait for it; Gpu::synchronize throws instead.
//   on.value_at(pointer)           The double at `pointer`; waits for all earlier work. On GPUs, throws NotCapturable
//                                  while the thread captures.
//
// Operations of a team; all of its threads must make the same calls in the same order:
//
//   team.reduce(n, start, load, combine)  start combined with load(i) for each i in [0, n); all threads get the result.
//                                         Each thread begins with `start`, so combining it several times must not
//                                         change the result.
//   team.scan(n, start, load, combine, store)
//                                         store(i, before, through) for each i in [0, n): `before` is start combined
//                                         with load(j) for each j < i in order, and `through` is `before` combined with
//                                         load(i). `start` must be the identity of combine.
//   team.each(n, body)                    body(i) for each i in [0, n), by the thread that loaded i in reduce.
//   team.once(body)                       body(), by one thread.
//
// The order in which values are combined depends only on the sizes. Functions given to an executor are copied to the
// device, so they must hold only plain values and pointers and be LOCKSTEP_HOST_DEVICE. Indices have 64 bits, in which
// GPUs multiply and divide slowly; functions that compute several indices therefore use 32 bits if all of them fit
// (divisor.h).

namespace lockstep::kernels {

using Index = std::int64_t;

/// Number of threads of a team that processes n elements: a warp or a block.
constexpr int narrow_team = 32;
constexpr int wide_team = 256;
constexpr int team_width(Index n) { return n <= 1024 ? narrow_team : wide_team; }

/// Number of neighboring elements that each thread scans by itself in one round of team.scan.
constexpr int scan_run = 4;

/// Number (a power of two) of neighboring elements along `inner` that a block of `columns` or `rows` covers.
/// column_depth threads work on each of them.
constexpr int column_width(Index inner) {
  int width = 1;
  while (width < inner && width < 32) width *= 2;
  return width;
}
constexpr int column_depth(Index inner) { return wide_team / column_width(inner); }
/// Number of blocks along `inner`.
constexpr Index column_tiles(Index inner) { return (inner + column_width(inner) - 1) / column_width(inner); }

/// Maximum size, in bytes, of a value that a team combines; a multiple of the alignment of every such value.
constexpr int most_value_bytes = 16;
/// Maximum size, in bytes, of a value that `columns` combines.
constexpr int most_column_bytes = 128;

/// Sorted keys and the positions that they had before sorting; both i64.
struct SortedKeys {
  Tensor keys;
  Tensor places;
};

}  // namespace lockstep::kernels
