#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A window that slides over the spatial axes of x (n, h, w, c), with Keras' padding made explicit.
struct Sliding2d {
  Window2d window;  ///< with explicit padding
  Size2d output;    ///< rows and columns of the result
};

/// `size` counts the window's taps, `dilation` is the distance between them. Throws InvalidArgument naming `op` and the
/// sizes when a size, stride or dilation is below 1, when x has no spatial element, and with `valid` padding when x is
/// smaller than the window.
Sliding2d slide_window(const char* op, const Shape& x, Size2d size, Size2d strides, Padding padding,
                       Size2d dilation = {1, 1});

}  // namespace lockstep
