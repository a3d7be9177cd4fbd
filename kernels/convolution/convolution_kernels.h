#pragma once

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/write.h>

namespace lockstep::kernels {

///@{
/// Convolution, f32 or bf16: y (Conv2d) from x (n, h, w, c_in) and the kernel, dx (Conv2dGradientX) from dy and the
/// kernel, dkernel and dbias (Conv2dGradientKernel) from x and dy. The kernel (k_h, k_w, c_in / groups, c_out), its
/// gradient, bias and dbias are f32. bias and dbias may be undefined; the activation is fusable (fused_activation.h).
/// `write` says whether the gradient replaces dx or is added to it. On GPUs, `filters` is the kernel converted by
/// filters_first to the dtype of x and dy; CPUs do not read it.
struct Conv2d {
  Tensor x;
  Tensor kernel;
  Tensor bias;
  Window2d window;
  Activation activation;
  Tensor y;
  Tensor filters{};

  static constexpr const char* name = "conv2d";
  auto operands() const { return kernels::operands(x, kernel, bias, y, filters); }
  void on_cpu() const;
  void on_gpu() const;
};

struct Conv2dGradientX {
  Tensor dy;
  Tensor kernel;
  Window2d window;
  Write write;
  Tensor dx;
  Tensor filters{};

  static constexpr const char* name = "conv2d_gradient_x";
  auto operands() const { return kernels::operands(dy, kernel, dx, filters); }
  void on_cpu() const;
  void on_gpu() const;
};

struct Conv2dGradientKernel {
  Tensor x;
  Tensor dy;
  Window2d window;
  Tensor dkernel;
  Tensor dbias;

  static constexpr const char* name = "conv2d_gradient_kernel";
  auto operands() const { return kernels::operands(x, dy, dkernel, dbias); }
  void on_cpu() const;
  void on_gpu() const;
};
///@}

}  // namespace lockstep::kernels
