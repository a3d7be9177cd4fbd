#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

// A convolution with a 1x1 kernel is the product of two matrices: the pixels (n * h * w, c_in) and the kernel (c_in,
// c_out).

namespace lockstep {

/// Whether the convolution is a product of pixels and kernel: it has 1x1 windows, no padding and one group.
inline bool is_product(const Tensor& x, const Shape& kernel, const Window2d& w) {
  return w.height == 1 && w.width == 1 && w.pad_top == 0 && w.pad_left == 0 && w.pad_bottom == 0 && w.pad_right == 0 &&
         kernel[2] == x.dim(3);
}

/// Images (n, h, w, c) as the matrix (n * h * w, c).
inline Tensor pixels(const Tensor& image) { return image.view({image.elements() / image.dim(3), image.dim(3)}); }

/// A kernel (1, 1, c_in, c_out) as the matrix (c_in, c_out).
inline Tensor as_matrix(const Tensor& kernel) { return kernel.view({kernel.dim(2), kernel.dim(3)}); }

/// Whether 1x1 windows cover all pixels of the image, i.e. both strides are 1.
inline bool sees_all(const Window2d& w) { return w.stride_h == 1 && w.stride_w == 1; }

}  // namespace lockstep
