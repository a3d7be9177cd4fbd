#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

// Differentiable ops for a convolution (no bias, no activation) and for its gradients with respect to the input and the
// kernel. Each of the three is bilinear, and the other two compute its gradients. conv2d and conv2d_transpose use these
// ops for their gradients when a tape records the backward pass (second-order gradients).

namespace lockstep {

/// A convolution, given by its window and the shapes of its operands and result.
struct ConvolutionMaps {
  Window2d window;  ///< kernel size, strides, padding and dilation
  Shape x;          ///< the input, (n, h, w, c)
  Shape kernel;     ///< the kernel, in conv2d's layout
  Shape y;          ///< the result

  ///@{
  /// x and dy are f32 or bf16; the kernel is f32. `result` and `gradient_of_x` return the dtype of their first
  /// argument, `gradient_of_kernel` returns f32.
  Tensor result(const Tensor& x, const Tensor& kernel) const;
  Tensor gradient_of_x(const Tensor& dy, const Tensor& kernel) const;
  Tensor gradient_of_kernel(const Tensor& x, const Tensor& dy) const;
  ///@}
};

}  // namespace lockstep
