#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

// Gradients of the kernels of convolutions of bf16 on Intel's tile registers (amx_tiles.h). oneDNN 2.6's reach 490 to
// 960 GFLOP/s on a core of such a processor, where its convolutions forward reach 1,650 to 2,050 (windows of 3x3).

namespace lockstep::amx {

/// Whether the function below can do a convolution of x: of one group, windows that move by one pixel, and channels
/// that are multiples of 16. Not whether the processor can (onednn::has_tiles()).
bool fits(const Tensor& x, const Shape& kernel, const Window2d& window);

/// As kernels::Conv2dGradientKernel, without a bias.
void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel);

}  // namespace lockstep::amx
