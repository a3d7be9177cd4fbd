#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::test {

/// What an op gives for integers, u8 and bool: an error (with `kept` for u8 and bool, with `kept_but_bool` for bool),
/// the same dtype (with `bool_gives_i32` i32 for bool), or f32.
enum class Integers { refused, kept, kept_but_bool, bool_gives_i32, kept_as_all, give_f32 };

/// An element-wise op of one tensor with the name that it has in keras.ops.
struct UnaryOp {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*reference)(double);
  double low, high;  ///< bounds of the elements in tests, which may lie inside the function's domain
  Integers integers;
};

const std::vector<UnaryOp>& unary_ops();

}  // namespace lockstep::test
