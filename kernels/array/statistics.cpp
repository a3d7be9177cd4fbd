#include "lockstep/kernels/array/statistics.h"

#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

// Compositions of differentiable ops in f32.

namespace lockstep {
namespace {

/// f(x in f32), in x's dtype.
template <class F>
Tensor in_f32(const char* op, const Tensor& x, const F& f) try {
  require_real(op, x);
  return cast(f(cast(x, DType::f32)), x.dtype());
} catch (Error& error) {
  rethrow_from(op, error);
}

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

Tensor std(const Tensor& x) { return std(x, all_axes(x)); }

Tensor std(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return in_f32("std", x, [&](const Tensor& wide) { return sqrt(variance(wide, axes, keepdims)); });
}

Tensor norm(const Tensor& x) { return norm(x, all_axes(x)); }

Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return in_f32("norm", x, [&](const Tensor& wide) { return sqrt(sum(square(wide), axes, keepdims)); });
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
