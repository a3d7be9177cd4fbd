#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

// Convolutions with kernels of one pixel are matrix products of pixels.

namespace lockstep {

/// Whether the convolution multiplies pixels of x with one matrix.
inline bool is_product(const Tensor& x, const Shape& kernel, const Window2d& w) {
  return w.height == 1 && w.width == 1 && w.pad_top == 0 && w.pad_left == 0 && w.pad_bottom == 0 && w.pad_right == 0 &&
         kernel[2] == x.dim(3);
}

/// All pixels of an image as the rows of a matrix.
inline Tensor pixels(const Tensor& image) { return image.view({image.elements() / image.dim(3), image.dim(3)}); }

/// A kernel of one pixel as a matrix.
inline Tensor as_matrix(const Tensor& kernel) { return kernel.view({kernel.dim(2), kernel.dim(3)}); }

/// Whether windows of one pixel see all of x.
inline bool sees_all(const Window2d& w) { return w.stride_h == 1 && w.stride_w == 1; }

}  // namespace lockstep
