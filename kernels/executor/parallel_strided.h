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
  const bool is_one = runs == 1;  // then the loop has one axis, of which threads take parts
  // One call of `body` for both cases, since its code is long.
  parallel_for(is_one ? n : runs, is_one ? grain : std::max<std::int64_t>(1, grain / n),
               [&](std::int64_t begin, std::int64_t end) {
                 Shape index = loop.shape;
                 std::array<std::int64_t, N> offsets{};
                 std::int64_t rest = begin;
                 for (int axis = is_one ? inner : inner - 1; axis >= 0; --axis) {
                   index[axis] = rest % loop.shape[axis];
                   rest /= loop.shape[axis];
                   for (int i = 0; i < N; ++i) offsets[i] += index[axis] * loop.strides[i][axis];
                 }
                 const std::int64_t length = is_one ? end - begin : n;
                 for (std::int64_t run = is_one ? end - 1 : begin; run < end; ++run) {
                   body(offsets, length);
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
