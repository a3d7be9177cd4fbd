#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/unary.h>
#include <lockstep/kernels/elementwise/activation_functions.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/op/layout.h>

namespace lockstep {
namespace {

/// The slope of a function that is linear between its kinks: a constant for tapes.
Tensor constant_slope(const UnaryFunction& f, const Tensor& kept) {
  const Tensor result = Tensor::empty(kept.shape(), kept.dtype());
  launch(kernels::UnaryGradient{f, make_dense(kept), Tensor::full(kept.shape(), 1, kept.dtype()), result});
  return result;
}

Tensor gelu_slope(const Tensor& x) {
  return (erf(x * 0.707106781) + 1.0) * 0.5 + x * exp(square(x) * -0.5) * 0.398942280;
}

Tensor gelu_tanh_slope(const Tensor& x) {
  constexpr double factor = functor::GeluTanh::factor;
  constexpr double cubic = functor::GeluTanh::cubic;
  const Tensor t = tanh((x + power(x, 3) * cubic) * factor);
  return (t + 1.0 + x * (1.0 - square(t)) * (square(x) * (3 * cubic * factor) + factor)) * 0.5;
}

Tensor mish_slope(const Tensor& x) {
  const Tensor t = tanh(softplus(x));
  return t + x * (1.0 - square(t)) * sigmoid(x);
}

/// 0 up to `from`, 1 from `to` on, and `between`.
Tensor rising(const Tensor& x, double from, double to, const Tensor& between) {
  return where(less_equal(x, from), 0.0, where(greater_equal(x, to), 1.0, between));
}

/// The slope at the point where the function's result is y, for functions whose gradient is computed from it.
Tensor slope_from_result(const UnaryFunction& f, const Tensor& y) {
  switch (f.op) {
    case UnaryOp::exp:
      return y;
    case UnaryOp::sqrt:
      return divide(0.5, y);
    case UnaryOp::expm1:
      return y + 1.0;
    case UnaryOp::elu:
      return where(greater(y, 0), 1.0, y + f.alpha);
    case UnaryOp::celu:
      return where(greater(y, 0), 1.0, y / f.alpha + 1.0);
    case UnaryOp::selu:
      return where(greater_equal(y, 0), functor::Selu::scale, y + functor::Selu::scale * functor::Selu::alpha);
    case UnaryOp::sigmoid:
      return y * (1.0 - y);
    case UnaryOp::tan:
      return square(y) + 1.0;
    case UnaryOp::softsign:
      return square(1.0 - abs(y));
    case UnaryOp::tanh:
      return 1.0 - square(y);
    default:
      return constant_slope(f, y);
  }
}

Tensor slope_at(const UnaryFunction& f, const Tensor& x) {
  switch (f.op) {
    case UnaryOp::log:
      return divide(1, x);
    case UnaryOp::log2:
      return divide(1.44269504, x);
    case UnaryOp::log10:
      return divide(0.434294482, x);
    case UnaryOp::log1p:
      return divide(1, x + 1.0);
    case UnaryOp::square:
      return x * 2.0;
    case UnaryOp::power:
      return f.alpha == 0 ? constant_slope(f, x) : power(x, f.alpha - 1.0) * f.alpha;
    case UnaryOp::divided:
      return divide(divide(-f.alpha, x), x);
    case UnaryOp::rsqrt:
      return power(x, -1.5) * -0.5;
    case UnaryOp::erf:
      return exp(negative(square(x))) * 1.12837917;
    case UnaryOp::sin:
      return cos(x);
    case UnaryOp::cos:
      return negative(sin(x));
    case UnaryOp::arcsin:
      return rsqrt((1.0 - x) * (x + 1.0));
    case UnaryOp::arccos:
      return negative(rsqrt((1.0 - x) * (x + 1.0)));
    case UnaryOp::arctan:
      return divide(1, square(x) + 1.0);
    case UnaryOp::sinh:
      return cosh(x);
    case UnaryOp::cosh:
      return sinh(x);
    case UnaryOp::arcsinh:
      return rsqrt(square(x) + 1.0);
    case UnaryOp::arccosh:
      return rsqrt(x - 1.0) * rsqrt(x + 1.0);
    case UnaryOp::arctanh:
      return divide(1, (1.0 - x) * (x + 1.0));
    case UnaryOp::gelu:
      return gelu_slope(x);
    case UnaryOp::gelu_tanh:
      return gelu_tanh_slope(x);
    case UnaryOp::silu:
      return sigmoid(x) * (x * sigmoid(negative(x)) + 1.0);
    case UnaryOp::softplus:
      return sigmoid(x);
    case UnaryOp::hard_silu:
      return rising(x, -3, 3, (x * 2.0 + 3.0) / 6.0);
    case UnaryOp::mish:
      return mish_slope(x);
    case UnaryOp::log_sigmoid:
      return sigmoid(negative(x));
    case UnaryOp::squareplus:
      return (x / sqrt(square(x) + f.alpha) + 1.0) * 0.5;
    case UnaryOp::sparse_plus:
      return rising(x, -1, 1, (x + 1.0) * 0.5);
    case UnaryOp::tanh_shrink:
      return square(tanh(x));
    default:
      return constant_slope(f, x);
  }
}

}  // namespace

Tensor slope(const UnaryFunction& f, const Tensor& kept) {
  return gradient_from_result(f) ? slope_from_result(f, kept) : slope_at(f, kept);
}

}  // namespace lockstep
