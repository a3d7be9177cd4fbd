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
  sign,
  floor,
  ceil,
  round,
  relu,
  relu6,
  leaky_relu,
  elu,
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
  /// `first` becomes `alpha`, `second` becomes `beta`.
  UnaryFunction(UnaryOp kind, float first = 0, float second = 0)  // NOLINT: implicit
      : op(kind), alpha(first), beta(second) {}

  UnaryOp op;  ///< which function
  /// maximum and minimum: the bound; clip: the lower one; power: the exponent; divided: the numerator; leaky_relu:
  /// slope for x < 0, itself not negative; elu: factor for x < 0, itself not negative; hard_sigmoid: slope; hard_shrink
  /// and soft_shrink: threshold, not negative. Other functions ignore alpha.
  float alpha;
  float beta;  ///< clip: the upper bound
};

}  // namespace lockstep
