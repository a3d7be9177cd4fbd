#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

// Kernel gradients of bf16 convolutions on Intel's tile registers (amx_tiles.h). oneDNN 2.6 computes such gradients at
// 490 to 960 GFLOP/s on one core with AMX, but forward convolutions at 1,650 to 2,050 (3x3 windows).

namespace lockstep::amx {

/// Whether conv2d_gradient_kernel below supports a convolution of x: bf16, one group, strides 1, channels in multiples
/// of 16, and along each axis the smaller padding less than the window's extent. Does not check the processor
/// (onednn::has_tiles()).
bool fits(const Tensor& x, const Shape& kernel, const Window2d& window);

/// Computes the dkernel of kernels::Conv2dGradientKernel. Precondition: fits().
void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel);

}  // namespace lockstep::amx
