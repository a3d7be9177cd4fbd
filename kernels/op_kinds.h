#pragma once

namespace lockstep {

// Element-wise ops of the op table.
enum class UnaryOp { negative, exp, log, sqrt, square, relu, sigmoid, tanh };
enum class BinaryOp { add, subtract, multiply, divide };

/// How the replicas' values become one.
enum class ReduceOp { sum, mean, max, min, prod };

}  // namespace lockstep
