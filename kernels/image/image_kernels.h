#pragma once

#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// lockstep::resize along the middle axis of x (outer, n, inner): y (outer, m, inner), real, maybe of another dtype;
/// for nearest, any dtype, which both have. n and m are at least 1 and below 2^30. `transposed`: the gradient, from y's
/// to x's, of a resizing from m to n; real.
struct ResizeAxis {
  Tensor x;
  Interpolation interpolation;
  bool antialias;
  bool transposed;
  Tensor y;

  static constexpr const char* name = "resize_axis";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

}  // namespace lockstep::kernels
