#include "lockstep/kernels/array/activations.h"

#include <algorithm>
#include <iterator>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/fused_activation.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/array/unary.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_function.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/softmax_kernels.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep {
namespace {

/// A dense tensor as (rows, last axis).
Tensor as_matrix(const Tensor& x) {
  std::int64_t rows = 1;
  for (int axis = 0; axis < x.rank() - 1; ++axis) rows *= x.dim(axis);
  return x.view({rows, x.dim(-1)});
}

///@{
/// The gradients of the ops by_row, by ops.
Tensor by_ops(const kernels::SoftmaxGradient& g) {
  return multiply(g.y, subtract(g.dy, sum(multiply(g.dy, g.y), {-1}, true)));
}
Tensor by_ops(const kernels::LogSoftmaxGradient& g) {
  return subtract(g.dy, multiply(exp(g.y), sum(g.dy, {-1}, true)));
}
///@}

/// An op on rows of logits whose gradient follows from its result: by kernels of (logits, y) and of (y, dy, dx).
template <class Forward, class Gradient>
Tensor by_row(const char* op, const Tensor& x, bool keeps_origin = false) try {
  require_real(op, x);
  require(x.rank() >= 1, "{} needs at least one axis, got {}", op, x);
  const Tensor logits = to_current_device(x);
  Tensor y = Tensor::empty(logits.shape(), logits.dtype());
  if (keeps_origin) y = y.with_origin(op, logits);
  launch(Forward{as_matrix(make_dense(logits)), as_matrix(y)});
  if (recording({logits})) {
    record(op, {logits}, y, [y](BackwardContext& c) {
      if (c.is_recorded()) return contribute_ops(c, 0, [&] { return by_ops(Gradient{y, c.gradient(0), {}}); });
      contribute(
          c, 0, y.shape(),
          [&](const Tensor& out) {
            launch(Gradient{as_matrix(y), as_matrix(make_dense(c.gradient(0))), as_matrix(out)});
          },
          y.dtype());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace

Tensor relu(const Tensor& x) { return unary(functor::Relu{}, x); }

Tensor relu(const Tensor& x, double negative_slope, std::optional<double> max_value, double threshold) try {
  require(negative_slope >= 0 && max_value.value_or(0) >= 0 && threshold >= 0,
          "relu takes a negative_slope, a max_value and a threshold of at least 0, got {}, {} and {}", negative_slope,
          max_value.value_or(0), threshold);
  require_real("relu", x);
  if (threshold == 0) {  // fewer ops
    if (max_value == 6 && negative_slope == 0) return relu6(x);
    const Tensor y = negative_slope == 0 ? relu(x) : leaky_relu(x, negative_slope);
    return max_value ? minimum(y, *max_value) : y;
  }
  const Tensor above = max_value ? minimum(x, *max_value) : x;
  const Tensor is_below = less_equal(x, threshold);  // not for NaN
  return negative_slope == 0 ? where(is_below, 0.0, above) : where(is_below, (x - threshold) * negative_slope, above);
} catch (Error& error) {
  rethrow_from("relu", error);
}

Tensor relu6(const Tensor& x) { return unary(functor::Relu6{}, x); }

Tensor leaky_relu(const Tensor& x, double negative_slope) {
  require(negative_slope >= 0, "leaky_relu takes a negative_slope of at least 0, got {}", negative_slope);
  return unary(functor::LeakyRelu{static_cast<float>(negative_slope)}, x);
}

Tensor elu(const Tensor& x, double alpha) {
  require(alpha >= 0, "elu takes an alpha of at least 0, got {}", alpha);
  return unary(functor::Elu{static_cast<float>(alpha)}, x);
}

Tensor celu(const Tensor& x, double alpha) {
  require(alpha >= 1e-30 && alpha <= 1e30, "celu takes an alpha of 1e-30 to 1e30, got {}", alpha);
  return unary(functor::Celu{static_cast<float>(alpha)}, x);
}

Tensor selu(const Tensor& x) { return unary(functor::Selu{}, x); }
Tensor gelu(const Tensor& x, bool approximate) {
  return approximate ? unary(functor::GeluTanh{}, x) : unary(functor::Gelu{}, x);
}
Tensor sigmoid(const Tensor& x) { return unary(functor::Sigmoid{}, x, true); }
Tensor hard_sigmoid(const Tensor& x) { return activate(x, Activation::hard_sigmoid); }
Tensor silu(const Tensor& x) { return unary(functor::Silu{}, x); }
Tensor hard_silu(const Tensor& x) { return unary(functor::HardSilu{}, x); }
Tensor mish(const Tensor& x) { return unary(functor::Mish{}, x); }
Tensor softplus(const Tensor& x) { return unary(functor::Softplus{}, x); }
Tensor log_sigmoid(const Tensor& x) { return unary(functor::LogSigmoid{}, x); }
Tensor sparse_plus(const Tensor& x) { return unary(functor::SparsePlus{}, x); }
Tensor softsign(const Tensor& x) { return unary(functor::Softsign{}, x); }
Tensor tanh(const Tensor& x) { return real_unary(functor::Tanh{}, x); }
Tensor hard_tanh(const Tensor& x) { return unary(functor::HardTanh{}, x); }
Tensor tanh_shrink(const Tensor& x) { return unary(functor::TanhShrink{}, x); }

Tensor squareplus(const Tensor& x, double b) {
  require(b >= 1e-30 && b <= 1e30, "squareplus takes a b of 1e-30 to 1e30, got {}", b);
  return unary(functor::Squareplus{static_cast<float>(b)}, x);
}

Tensor hard_shrink(const Tensor& x, double threshold) {
  require(threshold >= 0, "hard_shrink takes a threshold of at least 0, got {}", threshold);
  return unary(functor::HardShrink{static_cast<float>(threshold)}, x);
}

Tensor soft_shrink(const Tensor& x, double threshold) {
  require(threshold >= 0, "soft_shrink takes a threshold of at least 0, got {}", threshold);
  return unary(functor::SoftShrink{static_cast<float>(threshold)}, x);
}

Tensor sparse_sigmoid(const Tensor& x) try {
  require_real("sparse_sigmoid", x);
  return activate(x, Activation::sparse_sigmoid);
} catch (Error& error) {
  rethrow_from("sparse_sigmoid", error);
}

Tensor threshold(const Tensor& x, double threshold, double default_value) try {
  require_real("threshold", x);
  return where(less_equal(x, threshold), default_value, x);
} catch (Error& error) {
  rethrow_from("threshold", error);
}

Tensor glu(const Tensor& x, int axis) try {
  require_real("glu", x);
  const std::vector<Tensor> halves = split(x, 2, axis);
  return multiply(halves[0], sigmoid(halves[1]));
} catch (Error& error) {
  rethrow_from("glu", error);
}

Tensor softmax(const Tensor& logits) {
  return by_row<kernels::Softmax, kernels::SoftmaxGradient>("softmax", logits, true);
}

Tensor log_softmax(const Tensor& logits) {
  return by_row<kernels::LogSoftmax, kernels::LogSoftmaxGradient>("log_softmax", logits);
}

Tensor softmax(const Tensor& logits, const std::vector<int>& axes) try {
  require_real("softmax", logits);
  return over_axes("softmax", logits, axes, [](const Tensor& x) { return softmax(x); });
} catch (Error& error) {
  rethrow_from("softmax", error);
}

Tensor log_softmax(const Tensor& logits, const std::vector<int>& axes) try {
  require_real("log_softmax", logits);
  return over_axes("log_softmax", logits, axes, [](const Tensor& x) { return log_softmax(x); });
} catch (Error& error) {
  rethrow_from("log_softmax", error);
}

Tensor activate(const Tensor& x, Activation activation) {
  if (activation == Activation::softmax) return by_row<kernels::Softmax, kernels::SoftmaxGradient>("softmax", x);
  if (activation == Activation::log_softmax) return log_softmax(x);
  const std::optional<UnaryFunction> function = function_of(activation);
  return function ? unary(*function, x) : x;
}

std::optional<UnaryFunction> function_of(Activation activation) {
  // In the order of Activation.
  static constexpr std::optional<UnaryFunction> functions[] = {
      std::nullopt,  // linear
      functor::Relu{},
      functor::Relu6{},
      functor::LeakyRelu{0.2F},
      functor::Elu{1.0F},
      functor::Selu{},
      functor::Gelu{},
      functor::GeluTanh{},
      functor::Sigmoid{},
      functor::HardSigmoid{1.0F / 6.0F},
      functor::HardSigmoid{0.2F},  // keras_2_hard_sigmoid
      functor::Silu{},
      functor::Softplus{},
      functor::Softsign{},
      functor::Tanh{},
      functor::Exp{},  // exponential
      std::nullopt,    // softmax
      std::nullopt,    // log_softmax
      functor::HardSilu{},
      functor::Mish{},
      functor::LogSigmoid{},
      functor::Squareplus{4.0F},
      functor::SparsePlus{},
      functor::Celu{1.0F},
      functor::HardTanh{},
      functor::HardShrink{0.5F},
      functor::SoftShrink{0.5F},
      functor::TanhShrink{},
      functor::HardSigmoid{0.5F},  // sparse_sigmoid
  };
  static_assert(std::size(functions) == static_cast<int>(Activation::sparse_sigmoid) + 1);
  return functions[static_cast<int>(activation)];
}

bool is_fusable(Activation activation) {
  constexpr Activation fusable[] = {Activation::linear,     Activation::relu, Activation::relu6,
                                    Activation::leaky_relu, Activation::elu,  Activation::selu,
                                    Activation::sigmoid,    Activation::tanh, Activation::exponential};
  return std::ranges::find(fusable, activation) != std::end(fusable);
}

Tensor before_activation(Activation activation, const Tensor& y, const Tensor& dy) {
  if (activation == Activation::linear) return recording({dy}) ? dense_copy(dy) : make_dense(dy);
  if (recording({y, dy})) return unary_gradient(function_of(activation).value(), y, dy);
  const Tensor result = Tensor::empty(y.shape(), y.dtype());
  launch(kernels::UnaryGradient{function_of(activation).value(), y, make_dense(dy), result});
  return result;
}

}  // namespace lockstep
