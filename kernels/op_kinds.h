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
/// Whether results replace what is in the output or are added to it.
enum class Write { replace, add };

/// Element-wise ops of two operands.
enum class BinaryOp { add, subtract, multiply, divide };

/// A unary op with its parameter.
struct UnaryFunction {
  /// `parameter` is what `alpha` stands for.
  UnaryFunction(UnaryOp kind, float parameter = 0) : op(kind), alpha(parameter) {}  // NOLINT: implicit

  UnaryOp op;  ///< which function
  /// maximum's and minimum's other value; leaky_relu's slope and elu's factor below 0, not negative; hard_sigmoid's
  /// slope; the others take none.
  float alpha;
};

/// What a layer may apply to its result, by Keras' names; leaky_relu has the slope 0.2, elu the factor 1. gelu_tanh is
/// Keras' gelu with approximate=True, silu is also called swish; hard_sigmoid has Keras 3's slope of 1/6,
/// keras_2_hard_sigmoid that of 0.2.
enum class Activation {
  linear,
  relu,
  relu6,
  leaky_relu,
  elu,
  selu,
  gelu,
  gelu_tanh,
  sigmoid,
  hard_sigmoid,
  keras_2_hard_sigmoid,
  silu,
  softplus,
  softsign,
  tanh,
  exponential,
  softmax,
  log_softmax
};

/// Which way round sorting puts numbers.
enum class SortDirection { ascending, descending };

/// How the replicas' values become one.
enum class ReduceOp { sum, mean, max, min, prod };

}  // namespace lockstep
