#include "lockstep/kernels/linear_algebra/norm.h"

#include <cmath>

#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/in_f32.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/linear_algebra/svd.h>
#include <lockstep/kernels/reduction/reduction.h>

// Compositions of differentiable ops in f32.

namespace lockstep {
namespace {

Tensor vector_norm(const Tensor& x, const std::vector<int>& axes, bool keepdims, double ord) {
  if (ord == 0) return cast(sum(not_equal(x, 0), axes, keepdims), DType::f32);
  if (ord == 2) return norm(x, axes, keepdims);
  const Tensor size = abs(x);
  if (std::isinf(ord)) return ord > 0 ? max(size, axes, keepdims) : min(size, axes, keepdims);
  return ord == 1 ? sum(size, axes, keepdims) : power(sum(power(size, ord), axes, keepdims), 1 / ord);
}

/// reduce(singular values, their axis), where `axes` are those of the rows and of the columns.
template <class Reduce>
Tensor of_singular_values(const Tensor& x, const std::vector<int>& axes, bool keepdims, const Reduce& reduce) {
  const Tensor y = reduce(svd(moveaxis(x, axes, {-2, -1})).s, std::vector{-1}, false);
  if (!keepdims) return y;
  return expand_dims(y, {x.shape().normalize_axis(axes[0]), x.shape().normalize_axis(axes[1])});
}

/// axes: of the rows and of the columns.
Tensor matrix_norm(const Tensor& x, const std::vector<int>& axes, bool keepdims, double ord) {
  const auto extreme = [ord](const Tensor& values, const std::vector<int>& over, bool keep) {
    return ord > 0 ? max(values, over, keep) : min(values, over, keep);
  };
  if (std::abs(ord) == 2) return of_singular_values(x, axes, keepdims, extreme);
  require(std::abs(ord) == 1 || std::isinf(ord), "norm of matrices takes the orders 1, -1, 2, -2, inf and -inf, got {}",
          ord);
  const bool of_columns = std::abs(ord) == 1;
  return extreme(sum(abs(x), {axes[of_columns ? 0 : 1]}, true), axes, keepdims);
}

}  // namespace

Tensor norm(const Tensor& x) { return norm(x, all_axes(x)); }

Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return in_f32("norm", x, [&](const Tensor& wide) { return sqrt(sum(square(wide), axes, keepdims)); });
}

Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims, double ord) {
  require(axes.size() == 1 || axes.size() == 2, "norm of an order takes one axis or two, got {}", axes.size());
  return in_f32("norm", x, [&](const Tensor& wide) {
    return axes.size() == 1 ? vector_norm(wide, axes, keepdims, ord) : matrix_norm(wide, axes, keepdims, ord);
  });
}

Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims, std::string_view ord) {
  require(ord == "fro" || ord == "nuc", "norm takes a number or the names fro and nuc as its order, got {}", ord);
  require(axes.size() == 2, "norm of order {} takes two axes, got {}", ord, axes.size());
  if (ord == "fro") return norm(x, axes, keepdims);
  return in_f32("norm", x, [&](const Tensor& wide) {
    return of_singular_values(wide, axes, keepdims, [](const auto&... arguments) { return sum(arguments...); });
  });
}

}  // namespace lockstep
