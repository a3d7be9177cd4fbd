#include "lockstep/kernels/array/statistics.h"

#include <cmath>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/real.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

// Compositions of differentiable ops in f32.

namespace lockstep {
namespace {

/// f(x in f32), in the dtype of x if it is f32 or bf16.
template <class F>
Tensor in_f32(const char* op, const Tensor& operand, const F& f) try {
  const Tensor x = as_real(op, operand);
  return cast(f(cast(x, DType::f32)), x.dtype());
} catch (Error& error) {
  rethrow_from(op, error);
}

Tensor variance(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return mean(squared_difference(x, mean(x, axes, true)), axes, keepdims);
}

Tensor vector_norm(const Tensor& x, const std::vector<int>& axes, bool keepdims, double ord) {
  if (ord == 0) return cast(sum(not_equal(x, 0), axes, keepdims), DType::f32);
  if (ord == 2) return norm(x, axes, keepdims);
  const Tensor size = abs(x);
  if (std::isinf(ord)) return ord > 0 ? max(size, axes, keepdims) : min(size, axes, keepdims);
  return ord == 1 ? sum(size, axes, keepdims) : power(sum(power(size, ord), axes, keepdims), 1 / ord);
}

/// axes: of the rows and of the columns.
Tensor matrix_norm(const Tensor& x, const std::vector<int>& axes, bool keepdims, double ord) {
  require(std::abs(ord) == 1 || std::isinf(ord), "norm of matrices takes the orders 1, -1, inf and -inf, got {}", ord);
  const bool of_columns = std::abs(ord) == 1;
  const Tensor sums = sum(abs(x), {axes[of_columns ? 0 : 1]}, true);
  return ord > 0 ? max(sums, axes, keepdims) : min(sums, axes, keepdims);
}

/// The largest elements, with keepdims, or 0 where they are not finite. A constant for tapes.
Tensor finite_largest(const Tensor& x, const std::vector<int>& axes) {
  const NoGradientScope constant;
  const Tensor largest = max(x, axes, true);
  return where(isfinite(largest), largest, 0.0);
}

}  // namespace

Tensor var(const Tensor& x) { return var(x, all_axes(x)); }

Tensor var(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return in_f32("var", x, [&](const Tensor& wide) { return variance(wide, axes, keepdims); });
}

Tensor average(const Tensor& operand, std::optional<int> axis, const Tensor& weights) try {
  require_same_dtype("average", operand, weights);
  const Tensor x = as_real("average", operand);
  const bool of_axis = axis && weights.rank() == 1 && weights.elements() == x.dim(*axis);
  require(of_axis || weights.shape() == x.shape(),
          "average takes weights of x's shape or one for each element along "
          "an axis, got {} and {}",
          x, weights);
  Tensor factors = cast(weights, DType::f32);
  if (weights.shape() != x.shape()) {
    Shape shape(std::vector<std::int64_t>(static_cast<std::size_t>(x.rank()), 1));
    shape[x.shape().normalize_axis(*axis)] = weights.elements();
    factors = reshape(factors, shape);
  }
  const std::vector<int> axes = axis ? std::vector{*axis} : all_axes(x);
  return cast(sum(cast(x, DType::f32) * factors, axes) / sum(factors, axes), x.dtype());
} catch (Error& error) {
  rethrow_from("average", error);
}

Tensor std(const Tensor& x) { return std(x, all_axes(x)); }

Tensor std(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return in_f32("std", x, [&](const Tensor& wide) { return sqrt(variance(wide, axes, keepdims)); });
}

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

Tensor logsumexp(const Tensor& x) { return logsumexp(x, all_axes(x)); }

Tensor logsumexp(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return in_f32("logsumexp", x, [&](const Tensor& wide) {
    const Tensor shift = finite_largest(wide, axes);
    const Tensor y = log(sum(exp(wide - shift), axes, keepdims));
    return y + shift.view(y.shape());
  });
}

}  // namespace lockstep
