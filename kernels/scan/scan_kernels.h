#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// lockstep::cumsum (scan.h) along the middle axis of x (outer, n, inner), f32 or bf16. The order of addition depends
/// only on x's shape and the kind of device.
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

/// y[r, i] = the product of x[r, 0] to x[r, i], for x (rows, n), f32 or bf16, of y's dtype; computed in f64.
struct CumulativeProduct {
  Tensor x;
  Tensor y;

  static constexpr const char* name = "cumulative_product";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

}  // namespace lockstep::kernels
