#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// y[i] = start + i * step / divisor in row-major order, computed in double precision. y has any dtype; for integer
/// dtypes, the numbers are truncated toward 0. If given, `last` is the last element, in place of the formula's result.
struct Range {
  double start;
  double step;
  Tensor y{};
  double divisor = 1;
  std::optional<double> last{};

  static constexpr const char* name = "range";
  auto operands() const { return kernels::operands(y); }
  template <class Executor>
  void run(Executor& on) const;
};

/// Indices for adaptive pooling along an axis, y (results) i64. Result i covers the elements from floor(i * elements /
/// results) up to, but not including, ceil((i + 1) * elements / results): `least` or `least` + 1 elements. y[i] is the
/// index of this window in a list of all windows of `least` elements followed by all windows of `least` + 1 elements,
/// both ordered by the first element of the window.
struct AdaptivePlaces {
  std::int64_t elements;
  std::int64_t least;
  Tensor y;

  static constexpr const char* name = "adaptive_places";
  auto operands() const { return kernels::operands(y); }
  template <class Executor>
  void run(Executor& on) const;
};

/// For matrices x (n, rows, columns) of any dtype. If `lower`, y = x where column <= row + diagonal; otherwise, y = x
/// where column >= row + diagonal. y = 0 elsewhere.
struct Triangle {
  Tensor x;
  bool lower;
  std::int64_t diagonal;
  Tensor y;

  static constexpr const char* name = "triangle";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
};

}  // namespace lockstep::kernels
