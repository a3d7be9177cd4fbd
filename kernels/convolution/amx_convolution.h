#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

// Weight gradients of bf16 convolutions on Intel's tile registers (amx_tiles.h). On one core with AMX, oneDNN 2.6
// computes such gradients (3x3 windows) at 490 to 960 GFLOP/s, but forward convolutions at 1,650 to 2,050 GFLOP/s.

namespace lockstep::amx {

/// Whether conv2d_gradient_kernel below supports a convolution of x. It requires bf16, one group, strides of 1 and
/// channel counts that are multiples of 16. Along each axis, the dilated extent of the window must exceed the smaller
/// of the two paddings. Does not check the processor (onednn::has_tiles()).
bool fits(const Tensor& x, const Shape& kernel, const Window2d& window);

/// Computes the dkernel of kernels::Conv2dGradientKernel. Precondition: fits().
void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel);

}  // namespace lockstep::amx
