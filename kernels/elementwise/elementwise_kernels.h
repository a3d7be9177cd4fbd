#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <lockstep/kernels/kernel.h>

namespace lockstep {

/// Element-wise ops of two operands.
enum class BinaryOp {
  add,
  subtract,
  multiply,
  divide,
  maximum,
  minimum,
  power,
  squared_difference,
  floor_divide,
  mod,
  arctan2,
  logaddexp
};

}  // namespace lockstep

namespace lockstep::kernels {

/// out = a op b; a and b have out's rank and any strides (0 on broadcast axes). f32 or bf16; all ops but divide,
/// arctan2 and logaddexp also take i32, i64 and u8, whose overflow wraps around.
struct Binary {
  BinaryOp op;
  Tensor a;
  Tensor b;
  Tensor out;

  static constexpr const char* name = "binary";
  auto operands() const { return kernels::operands(a, b, out); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// out = dy * d op(a, b) / da if `of_first`, else dy * d op(a, b) / db. `op` is any op except add, subtract, multiply
/// and divide. f32 or bf16; a, b and dy have out's rank and any strides. Where a equals b, the gradient of maximum and
/// minimum goes to a, as in TensorFlow.
struct BinaryGradient {
  BinaryOp op;
  bool of_first;
  Tensor a;
  Tensor b;
  Tensor dy;
  Tensor out;

  static constexpr const char* name = "binary_gradient";
  auto operands() const { return kernels::operands(a, b, dy, out); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// y = x * scale + shift, f32 or bf16.
struct Affine {
  Tensor x;
  float scale;
  float shift;
  Tensor y;

  static constexpr const char* name = "affine";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// y = x, converted to y's dtype. x and y have the same shape and any strides and dtypes.
struct Convert {
  Tensor x;
  Tensor y;

  static constexpr const char* name = "convert";
  auto operands() const { return kernels::operands(of_any_gpu(x), y); }  // replicas gather each other's tensors
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// Crops or zero-pads the matrix x to the shape of y: y[i][j] = x[i][j] where x has such an element, else 0. f32 or
/// bf16.
struct FitMatrix {
  Tensor x;
  Tensor y;

  static constexpr const char* name = "fit_matrix";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
};

/// Sets every element of x, of any dtype, to value. Precondition: the dtype can represent it, after rounding for f32
/// and bf16.
struct Fill {
  Tensor x;
  double value;

  static constexpr const char* name = "fill";
  auto operands() const { return kernels::operands(x); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// Sets the elements of several ranges of memory to 0, in one launch.
struct Clear {
  struct Range {
    float* begin;
    std::int64_t count;
  };
  /// Maximum number of ranges, so that they fit into the arguments of a GPU's kernel.
  static constexpr std::size_t most = 200;

  std::vector<Range> ranges;  ///< at most `most`

  static constexpr const char* name = "clear";
  std::vector<Operand> operands() const;
  template <class Executor>
  void run(Executor& on) const;
};

/// average = average * momentum + value * (1 - momentum) for each of several distinct averages, in one launch.
struct MovingAverages {
  struct Average {
    float* average;
    const float* value;
    std::int64_t count;  ///< elements behind each pointer
    float momentum;
  };
  /// Maximum number of averages, so that they fit into the arguments of a GPU's kernel.
  static constexpr std::size_t most = 120;

  std::vector<Average> averages;  ///< at most `most`

  static constexpr const char* name = "moving_averages";
  std::vector<Operand> operands() const;
  template <class Executor>
  void run(Executor& on) const;
};

}  // namespace lockstep::kernels
