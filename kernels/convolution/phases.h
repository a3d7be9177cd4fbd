#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/tensor/tensor.h>

// Computes dx, the gradient of a convolution with respect to its input, one phase at a time. The result of a transposed
// convolution is such a dx. Two pixels of dx belong to the same phase if the differences of their rows and of their
// columns are multiples of the stride. The same taps of the kernel contribute to all pixels of a phase, so a
// convolution of dy with these taps and stride 1 computes the phase. With oneDNN 2.6, this is up to twice as fast as
// the gradient of a convolution with strides (measured on an Intel processor with AVX-512).

namespace lockstep::phases {

/// Whether conv2d_gradient_x can compute the gradient dx and, according to measurements, is faster than oneDNN's
/// gradient. `window` is the window of the convolution.
bool is_faster(const Tensor& dx, const Shape& kernel, const Tensor& dy, const Window2d& window);

/// Computes kernels::Conv2dGradientX (convolution_kernels.h). Precondition: is_faster().
void conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, Write write, const Tensor& dx);

}  // namespace lockstep::phases
