#pragma once

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/sorting/sort_direction.h>

namespace lockstep::kernels {

/// The first k of n elements along the middle axis of x (outer, n, inner), in the order that sort.h describes,
/// and the index that each had there: values and indices (outer, k, inner).
struct SortMiddle {
  Tensor x;
  SortDirection direction;
  Tensor values;
  Tensor indices;

  static constexpr const char* name = "sort_middle";
  auto operands() const { return kernels::operands(x, values, indices); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

/// dx (outer, n, inner) = dy (outer, k, inner) at its indices, each of which is there once at most, and 0 elsewhere.
struct SortMiddleGradient {
  Tensor dy;
  Tensor indices;
  Tensor dx;

  static constexpr const char* name = "sort_middle_gradient";
  auto operands() const { return kernels::operands(dy, indices, dx); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

}  // namespace lockstep::kernels
