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
  tanh
};

/// A unary op with its parameter.
struct UnaryFunction {
  /// `parameter` is what `alpha` stands for.
  UnaryFunction(UnaryOp kind, float parameter = 0) : op(kind), alpha(parameter) {}  // NOLINT: implicit

  UnaryOp op;  ///< which function
  /// maximum's and minimum's other value; leaky_relu's slope and elu's factor below 0, not negative; hard_sigmoid's
  /// slope; the others take none.
  float alpha;
};

}  // namespace lockstep
