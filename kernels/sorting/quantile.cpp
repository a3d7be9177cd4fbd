#include "lockstep/kernels/sorting/quantile.h"

#include <cmath>
#include <numeric>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/real.h>
#include <lockstep/kernels/reduction/axis_groups.h>
#include <lockstep/kernels/sorting/sort.h>

namespace lockstep {
namespace {

/// The quantile q of f32 elements along the last axis, which remains with size 1.
Tensor along_last(const Tensor& x, double q) {
  const Tensor ordered = sort(x, -1);
  const auto at = [&](std::int64_t place) { return slice(ordered, -1, place, place + 1); };
  const double place = q * static_cast<double>(x.dim(-1) - 1);
  const auto before = static_cast<std::int64_t>(std::floor(place));
  const double share = place - std::floor(place);
  const Tensor y = share == 0 ? at(before) : at(before) * (1 - share) + at(before + 1) * share;
  const Tensor largest = at(x.dim(-1) - 1);  // NaN if one element is
  return where(isnan(largest), largest, y);
}

Tensor quantile_of(const char* op, const Tensor& operand, double q, const std::vector<int>& axes, bool keepdims) try {
  const Tensor x = as_real(op, operand);
  require(q >= 0 && q <= 1, "{} takes a q from 0 to 1, got {}", op, q);
  const AxisSet reduced = axis_set(x.shape(), axes);
  std::vector<int> last(axes.size());
  std::iota(last.begin(), last.end(), -static_cast<int>(axes.size()));
  const Tensor moved = moveaxis(cast(x, DType::f32), axes, last);
  Shape rows = reduced_shape(x.shape(), reduced, false);
  std::int64_t count = 1;
  for (const int axis : axes) count *= x.dim(axis);
  require(count > 0 || rows.elements() == 0, "{} of {}: there are no elements", op, x);
  rows.push_back(count);
  const Tensor y = count == 0 ? moved : along_last(reshape(moved, rows), q);
  return cast(reshape(y, reduced_shape(x.shape(), reduced, keepdims)), x.dtype());
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace

Tensor quantile(const Tensor& x, double q) { return quantile(x, q, all_axes(x)); }
Tensor quantile(const Tensor& x, double q, const std::vector<int>& axes, bool keepdims) {
  return quantile_of("quantile", x, q, axes, keepdims);
}

Tensor median(const Tensor& x) { return median(x, all_axes(x)); }
Tensor median(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return quantile_of("median", x, 0.5, axes, keepdims);
}

}  // namespace lockstep
