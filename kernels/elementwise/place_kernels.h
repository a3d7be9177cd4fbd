#pragma once

#include <cstdint>

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// y[i] = start + i * step / divisor in row-major order, computed in double precision; any dtype.
struct Range {
  double start;
  double step;
  Tensor y;
  double divisor = 1;

  static constexpr const char* name = "range";
  auto operands() const { return kernels::operands(y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

/// y = x in the columns of each matrix (n, rows, columns) that are at most (`lower`) or at least the row + diagonal;
/// 0 elsewhere. Any dtype.
struct Triangle {
  Tensor x;
  bool lower;
  std::int64_t diagonal;
  Tensor y;

  static constexpr const char* name = "triangle";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

}  // namespace lockstep::kernels
