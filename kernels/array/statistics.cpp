#include "lockstep/kernels/array/statistics.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/in_f32.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/real.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

// Compositions of differentiable ops in f32.

namespace lockstep {
namespace {

Tensor variance(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return mean(squared_difference(x, mean(x, axes, true)), axes, keepdims);
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

Tensor logsumexp(const Tensor& x) { return logsumexp(x, all_axes(x)); }

Tensor logsumexp(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return in_f32("logsumexp", x, [&](const Tensor& wide) {
    const Tensor shift = finite_largest(wide, axes);
    const Tensor y = log(sum(exp(wide - shift), axes, keepdims));
    return y + shift.view(y.shape());
  });
}

}  // namespace lockstep
