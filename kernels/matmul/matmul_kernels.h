#pragma once

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/write.h>

namespace lockstep::kernels {

///@{
/// Dense computes y (n, out) = activation(x (n, in) * kernel (in, out) + bias (out)), f32 or bf16; the activation is
/// fusable (is_fusable). The others compute gradients from dy, the gradient with respect to the activation's argument.
/// The kernel has x's dtype; dkernel, bias and dbias are f32. bias and dbias may be undefined. `write` says whether the
/// gradient replaces dx or is added to it.
struct Dense {
  Tensor x;
  Tensor kernel;
  Tensor bias;
  Activation activation;
  Tensor y;

  static constexpr const char* name = "dense";
  auto operands() const { return kernels::operands(x, kernel, bias, y); }
  void on_cpu() const;
  void on_gpu() const;
};

struct DenseGradientX {
  Tensor dy;
  Tensor kernel;
  Write write;
  Tensor dx;

  static constexpr const char* name = "dense_gradient_x";
  auto operands() const { return kernels::operands(dy, kernel, dx); }
  void on_cpu() const;
  void on_gpu() const;
};

struct DenseGradientKernel {
  Tensor x;
  Tensor dy;
  Tensor dkernel;
  Tensor dbias;

  static constexpr const char* name = "dense_gradient_kernel";
  auto operands() const { return kernels::operands(x, dy, dkernel, dbias); }
  void on_cpu() const;
  void on_gpu() const;
};
///@}

/// y (..., m, n) = a (..., m, k) b (..., k, n), f32 or bf16. All three have the same rank. The batch axes (all but the
/// last two) of a and b have y's size, or size 1, which is broadcast. a and b may have any strides.
struct Matmul {
  Tensor a;
  Tensor b;
  Tensor y;

  static constexpr const char* name = "matmul";
  auto operands() const { return kernels::operands(a, b, y); }
  void on_cpu() const;
  void on_gpu() const;
};

/// Matmul of i32, i64 and u8, whose overflow wraps around, and of bool: whether a product of the row and the column is
/// true.
struct IntegerMatmul {
  Tensor a;
  Tensor b;
  Tensor y;

  static constexpr const char* name = "integer_matmul";
  auto operands() const { return kernels::operands(a, b, y); }
  template <class Executor>
  void run(Executor& on) const;
};

}  // namespace lockstep::kernels
