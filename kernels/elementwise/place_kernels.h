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

/// Places of adaptive pooling, y (results) i64. Result i covers the elements from i * elements / results, rounded down,
/// to before (i + 1) * elements / results, rounded up: `least` of them or one more. y[i] is the first of them, among
/// the results of a window of `least` elements at all its places, or behind these of a window of least + 1.
struct AdaptivePlaces {
  std::int64_t elements;
  std::int64_t least;
  Tensor y;

  static constexpr const char* name = "adaptive_places";
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
