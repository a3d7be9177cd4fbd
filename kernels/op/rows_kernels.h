#pragma once

#include <cstdint>
#include <limits>

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/write.h>

namespace lockstep {

/// An index that ScatterRows skips without reporting it.
inline constexpr std::int64_t no_row = std::numeric_limits<std::int64_t>::min();

/// Calls `f.operator()<T>()` for a dtype whose rows ScatterRows can add. Precondition: f32, bf16, i32 or i64.
template <class F>
decltype(auto) visit_addable(DType dtype, F&& f) {
  if (dtype == DType::i32) return f.template operator()<std::int32_t>();
  if (dtype == DType::i64) return f.template operator()<std::int64_t>();
  return visit_real(dtype, std::forward<F>(f));
}

}  // namespace lockstep

namespace lockstep::kernels {

/// Row i of each matrix of y (outer, n, inner) = row indices[i] of the same matrix of x (outer, rows, inner), of any
/// dtype; indices (n) i64. Returns the first i whose index is outside [0, rows), or -1.
struct GatherRows {
  Tensor x;
  Tensor indices;
  Tensor y;

  static constexpr const char* name = "gather_rows";
  auto operands() const { return kernels::operands(x, indices, y); }
  template <class Executor>
  std::int64_t run(Executor& on) const;
  std::int64_t on_cpu() const;
};

/// For each matrix of `values` (outer, n, inner) and of `out` (outer, rows, inner): row indices[i] of out =
/// (Write::replace) or += (Write::add) row i of values, in the order of i; f32, bf16, i32 or i64. Sums of bf16 are
/// rounded once; sums of integers wrap around. Skips indices outside [0, rows). Returns the position of the first such
/// index other than no_row, or -1.
struct ScatterRows {
  Tensor values;
  Tensor indices;
  Write write;
  Tensor out;

  static constexpr const char* name = "scatter_rows";
  auto operands() const { return kernels::operands(values, indices, out); }
  template <class Executor>
  std::int64_t run(Executor& on) const;
  std::int64_t on_cpu() const;
};

}  // namespace lockstep::kernels
