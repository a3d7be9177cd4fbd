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

/// A unary op with its parameter.
struct UnaryFunction {
  /// `parameter` is the value of `alpha`.
  UnaryFunction(UnaryOp kind, float parameter = 0) : op(kind), alpha(parameter) {}  // NOLINT: implicit

  UnaryOp op;  ///< which function
  /// maximum and minimum: the bound; leaky_relu: slope below 0, not negative; elu: factor below 0, not negative;
  /// hard_sigmoid: slope; hard_shrink and soft_shrink: threshold, not negative. The other functions ignore it.
  float alpha;
};

}  // namespace lockstep
