#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/tensor/tensor.h>

// Winograd convolution for 3x3 windows with stride 1: it needs 36 instead of 144 multiplications for 16 results of one
// input channel and one output channel. oneDNN computes the matrix products, in f32 also for bf16 images: bf16 products
// would be twice as fast, but their error is 1.3 % of the results' norm, while rounding to bf16 costs 0.2 %. In f32 the
// error is about four times that of direct summation (1e-6).

namespace lockstep::winograd {

/// Whether the functions below support a convolution of x and were faster than oneDNN's in measurements: 3x3 windows,
/// stride 1, dilation 1 and one group; the channels are multiples of 16, at least half of the area of the 4x4 result
/// tiles is used, and there are enough tiles to outweigh the transformation of the kernel. The caller excludes bf16 on
/// CPUs with AMX.
bool pays(const Tensor& x, const Shape& kernel, const Window2d& window);

///@{
/// Compute the results of the kernels Conv2d, Conv2dGradientX and Conv2dGradientKernel (convolution_kernels.h), without
/// their activation and dbias. Precondition: pays().
void conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window, const Tensor& y);
void conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, Write write, const Tensor& dx);
void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel);
///@}

}  // namespace lockstep::winograd
