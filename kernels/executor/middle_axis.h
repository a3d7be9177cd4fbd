#pragma once

#include <algorithm>
#include <type_traits>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Reductions over the middle axis of tensors (outer, n, inner). A function object f with the members that `columns`
// (executor.h) requires defines a reduction.

namespace lockstep::kernels {

/// Base of reductions that sum; defines start and combine.
template <class V>
struct SumOf {
  using Value = V;
  LOCKSTEP_HOST_DEVICE V start() const { return V{}; }
  LOCKSTEP_HOST_DEVICE V combine(V a, V b) const { return a + b; }
};

/// Two sums computed in one pass.
struct TwoSums {
  double first, second;
  LOCKSTEP_HOST_DEVICE friend TwoSums operator+(const TwoSums& a, const TwoSums& b) {
    return {a.first + b.first, a.second + b.second};
  }
};

namespace detail {

/// Reduces one row with a team; for inner == 1.
template <class F>
struct RowReduction {
  F f;
  Index n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index row) const {
    using Value = typename F::Value;
    const Value all = team.reduce(
        n, f.start(), [&](Index i) { return f.load(row, i, 0); },
        [&](const Value& a, const Value& b) { return f.combine(a, b); });
    team.once([&] { f.finish(row, 0, all); });
  }
};

/// Divides a long middle axis into `parts` parts of `chunk` elements; the last parts may be shorter or empty. Reduces
/// each part and writes the results to `partial` (outer, parts, inner).
template <class F>
struct PartReduction : F {
  Index n, inner, parts, chunk;
  typename F::Value* partial;

  LOCKSTEP_HOST_DEVICE typename F::Value load(Index outer_part, Index i, Index k) const {
    const Index at = outer_part % parts * chunk + i;
    return at < n ? F::load(outer_part / parts, at, k) : F::start();
  }
  LOCKSTEP_HOST_DEVICE void finish(Index outer_part, Index k, const typename F::Value& value) const {
    partial[outer_part * inner + k] = value;
  }
};

/// Reduces the results of all parts to one value.
template <class F>
struct JoinedParts : F {
  Index inner, parts;
  const typename F::Value* partial;

  LOCKSTEP_HOST_DEVICE typename F::Value load(Index outer, Index part, Index k) const {
    return partial[(outer * parts + part) * inner + k];
  }
};

template <class Executor, class F>
void reduce_whole(Executor& on, Index outer, Index n, Index inner, const F& f) {
  if (inner == 1)
    on.teams(outer, n, RowReduction<F>{f, n});
  else
    on.columns(outer, n, inner, f);
}

}  // namespace detail

/// Number of parts into which reduce_middle divides the middle axis; depends only on the shape. The target is 1024
/// blocks, to occupy all multiprocessors of a GPU. If the axis is divided, all parts but the last ones have at least 16
/// elements for each thread.
inline Index middle_parts(Index outer, Index n, Index inner) {
  constexpr Index wanted_blocks = 1024;
  constexpr Index elements_of_thread = 16;
  const Index blocks = inner == 1 ? outer : outer * column_tiles(inner);
  const Index least = elements_of_thread * (inner == 1 ? wide_team : column_depth(inner));
  return std::max<Index>(1, std::min(wanted_blocks / std::max<Index>(1, blocks), n / least));
}

/// Calls f.finish(o, k, v) for each (o, k), where v combines f.load(o, i, k) over all i. Makes one pass, or two if n is
/// large and outer and inner are small.
template <class Executor, class F>
void reduce_middle(Executor& on, Index outer, Index n, Index inner, const F& f) {
  using Value = typename F::Value;
  static_assert(std::is_trivially_copyable_v<Value> && most_value_bytes % alignof(Value) == 0);
  if (outer == 0 || inner == 0) return;
  const Index parts = middle_parts(outer, n, inner);
  if (parts == 1) return detail::reduce_whole(on, outer, n, inner, f);
  const Index chunk = (n + parts - 1) / parts;
  const Tensor scratch = Tensor::empty({outer * parts * inner * static_cast<Index>(sizeof(Value))}, DType::u8);
  auto* const partial = static_cast<Value*>(scratch.raw_data());
  detail::reduce_whole(on, outer * parts, chunk, inner, detail::PartReduction<F>{f, n, inner, parts, chunk, partial});
  detail::reduce_whole(on, outer, parts, inner, detail::JoinedParts<F>{f, inner, parts, partial});
}

}  // namespace lockstep::kernels
