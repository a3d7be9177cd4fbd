#pragma once

namespace lockstep {

/// Element-wise ops of one operand.
enum class UnaryOp {
  negative,
  exp,
  log,
  sqrt,
  square,
  abs,
  maximum,
  minimum,
  clip,
  power,
  divided,
  rsqrt,
  log1p,
  expm1,
  log2,
  log10,
  erf,
  sin,
  cos,
  tan,
  arcsin,
  arccos,
  arctan,
  sinh,
  cosh,
  arcsinh,
  arccosh,
  arctanh,
  sign,
  floor,
  ceil,
  trunc,
  round,
  relu,
  relu6,
  leaky_relu,
  elu,
  celu,
  selu,
  gelu,
  gelu_tanh,
  sigmoid,
  hard_sigmoid,
  silu,
  softplus,
  softsign,
  tanh,
  hard_silu,
  mish,
  log_sigmoid,
  squareplus,
  sparse_plus,
  hard_tanh,
  hard_shrink,
  soft_shrink,
  tanh_shrink
};

/// A unary op with its parameters.
struct UnaryFunction {
  /// Sets `alpha` to `first` and `beta` to `second`.
  constexpr UnaryFunction(UnaryOp kind, float first = 0, float second = 0)  // NOLINT: implicit
      : op(kind), alpha(first), beta(second) {}

  UnaryOp op;  ///< the function
  /// A parameter of some functions. maximum, minimum: the bound. clip: the lower bound. power: the exponent. divided:
  /// the numerator. leaky_relu: the slope for x < 0; not negative. elu: the factor for x < 0; not negative.
  /// celu: the factor for x < 0, 1e-30 to 1e30. squareplus: b, 1e-30 to 1e30. hard_sigmoid: the slope. hard_shrink,
  /// soft_shrink: the threshold; not negative. round: the factor before rounding. The other functions ignore it.
  float alpha;
  float beta;  ///< clip: the upper bound; round: the divisor before rounding; other functions ignore it
};

}  // namespace lockstep
