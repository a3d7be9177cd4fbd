#pragma once

#include <cstdint>
#include <limits>

#include <lockstep/kernels/kernel.h>

namespace lockstep {

/// An index that ScatterAddRows skips without reporting it.
inline constexpr std::int64_t no_row = std::numeric_limits<std::int64_t>::min();

}  // namespace lockstep

namespace lockstep::kernels {

/// Row i of y (n, inner) = row indices[i] of x (rows, inner); indices (n) i64. Returns the first i whose index is
/// outside [0, rows), or -1.
struct GatherRows {
  Tensor x;
  Tensor indices;
  Tensor y;

  static constexpr const char* name = "gather_rows";
  auto operands() const { return kernels::operands(x, indices, y); }
  template <class Executor>
  std::int64_t run(Executor& on) const;
  std::int64_t on_host() const;
  std::int64_t on_cpu() const;
  std::int64_t on_gpu() const;
};

/// Row indices[i] of out (rows, inner) += row i of values (n, inner), in the order of i; f32 or bf16. Skips indices
/// outside [0, rows) and returns the position of the first one that is not no_row, or -1.
struct ScatterAddRows {
  Tensor values;
  Tensor indices;
  Tensor out;

  static constexpr const char* name = "scatter_add_rows";
  auto operands() const { return kernels::operands(values, indices, out); }
  template <class Executor>
  std::int64_t run(Executor& on) const;
  std::int64_t on_host() const;
  std::int64_t on_cpu() const;
  std::int64_t on_gpu() const;
};

}  // namespace lockstep::kernels
