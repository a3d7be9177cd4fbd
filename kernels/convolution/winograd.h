#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/tensor/tensor.h>

// Convolutions of 3x3 windows that move by one, with 36 multiplications for 16 results of a pair of channels instead of
// 144. The products are oneDNN's, in f32 for images of bf16 too: those of bf16 would be twice as fast, and their errors
// 1.3 % of the results' norm, where bf16 itself has 0.2 %. Errors in f32 are about four times those of plain sums
// (1e-6).

namespace lockstep::winograd {

/// Whether the functions below can do a convolution of x and are, as measured, faster than oneDNN's: channels are
/// multiples of 16, the tiles of 4x4 results do not hang over much, and there are enough of them.
bool pays(const Tensor& x, const Shape& kernel, const Window2d& window);

///@{
/// As the kernels of the same names (convolution/convolution_kernels.h).
void conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window, const Tensor& y);
void conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, Write write, const Tensor& dx);
void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel);
///@}

}  // namespace lockstep::winograd
