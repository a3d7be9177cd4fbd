#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/tensor/tensor.h>

// Winograd convolution for 3x3 windows with stride 1. For each pair of an input and an output channel, it computes a
// tile of 4 x 4 results with 36 multiplications instead of 144. oneDNN computes the matrix products, in f32 even for
// bf16 images: products in bf16 would be twice as fast, but their error would be 1.3 % of the results' norm, compared
// with 0.2 % from rounding the results to bf16. In f32, the error is about 1e-6 of the results' norm, about four times
// the error of direct summation.

namespace lockstep::winograd {

/// Whether the functions below can compute a convolution of x and, according to measurements, are faster than oneDNN's
/// convolution. True for windows of 3x3 with stride 1, dilation 1 and one group, if the channel counts are multiples of
/// 16, the results fill at least half of the area of their 4x4 tiles, and there are enough tiles to outweigh the
/// transformation of the kernel. The caller excludes bf16 on CPUs with AMX.
bool is_faster(const Tensor& x, const Shape& kernel, const Window2d& window);

///@{
/// Compute the results of the kernels Conv2d, Conv2dGradientX and Conv2dGradientKernel (convolution_kernels.h), without
/// their activation and dbias. Precondition: is_faster().
void conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window, const Tensor& y);
void conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, Write write, const Tensor& dx);
void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel);
///@}

}  // namespace lockstep::winograd
