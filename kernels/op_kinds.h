#pragma once

namespace lockstep {

// Element-wise ops of the op table.
enum class UnaryOp { negative, exp, log, sqrt, square, relu, sigmoid, tanh };
enum class BinaryOp { add, subtract, multiply, divide };

}  // namespace lockstep
