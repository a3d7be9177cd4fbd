#pragma once

#include <array>
#include <cstdint>

#include <lockstep/kernels/executor/strided_loop.h>
#include <lockstep/runtime/thread/parallel.h>

// Loops over several tensors of one shape and any strides.

namespace lockstep::cpu {

/// Minimum number of elements that parallel_for gives to a thread in memory-bound loops.
inline constexpr std::int64_t grain = 32768;

/// Calls body(offsets, n), on several threads, for runs of n elements along the inner axis; the run begins at element
/// offsets[i] of operand i.
template <int N, class Body>
void for_each_run(const StridedLoop<N>& loop, const Body& body) {
  const int inner = loop.inner_axis();
  const std::int64_t n = loop.inner_size();
  std::int64_t runs = 1;
  for (int axis = 0; axis < inner; ++axis) runs *= loop.shape[axis];
  if (n == 0 || runs == 0) return;
  if (runs == 1) {
    parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
      std::array<std::int64_t, N> offsets;
      for (int i = 0; i < N; ++i) offsets[i] = begin * loop.inner_stride(i);
      body(offsets, end - begin);
    });
    return;
  }
  parallel_for(runs, std::max<std::int64_t>(1, grain / n), [&](std::int64_t begin, std::int64_t end) {
    Shape index = loop.shape;
    std::array<std::int64_t, N> offsets{};
    std::int64_t rest = begin;
    for (int axis = inner - 1; axis >= 0; --axis) {
      index[axis] = rest % loop.shape[axis];
      rest /= loop.shape[axis];
      for (int i = 0; i < N; ++i) offsets[i] += index[axis] * loop.strides[i][axis];
    }
    for (std::int64_t run = begin; run < end; ++run) {
      body(offsets, n);
      for (int axis = inner - 1; axis >= 0; --axis) {
        for (int i = 0; i < N; ++i) offsets[i] += loop.strides[i][axis];
        if (++index[axis] < loop.shape[axis]) break;
        for (int i = 0; i < N; ++i) offsets[i] -= loop.strides[i][axis] * loop.shape[axis];
        index[axis] = 0;
      }
    }
  });
}

}  // namespace lockstep::cpu
