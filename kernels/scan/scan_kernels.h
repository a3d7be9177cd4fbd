#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// As lockstep::cumsum (scan.h) along the middle axis of x (outer, n, inner); x's shape alone decides the order
/// of addition.
struct CumulativeSum {
  Tensor x;
  bool exclusive;
  bool reverse;
  Tensor y;

  static constexpr const char* name = "cumulative_sum";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_cpu() const;
  void on_gpu() const;
};

}  // namespace lockstep::kernels
