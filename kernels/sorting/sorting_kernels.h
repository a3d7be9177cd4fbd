#pragma once

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/sorting/sort_direction.h>

namespace lockstep::kernels {

/// Sorts along the middle axis of x (outer, n, inner), of any dtype, in the order that sort.h describes. Writes the
/// first k elements to values (outer, k, inner) and their indices along the axis to indices (outer, k, inner), i64.
struct SortMiddle {
  Tensor x;
  SortDirection direction;
  Tensor values;
  Tensor indices;

  static constexpr const char* name = "sort_middle";
  auto operands() const { return kernels::operands(x, values, indices); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// Sets dx (outer, n, inner), f32 or bf16, to dy (outer, k, inner) at `indices` along the axis and to 0 elsewhere. The
/// indices are distinct along the axis.
struct SortMiddleGradient {
  Tensor dy;
  Tensor indices;
  Tensor dx;

  static constexpr const char* name = "sort_middle_gradient";
  auto operands() const { return kernels::operands(dy, indices, dx); }
  template <class Executor>
  void run(Executor& on) const;
};

}  // namespace lockstep::kernels
