#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// How a window moves over the spatial axes of x (n, h, w, c), with Keras' padding made explicit, and how often it
/// fits.
struct Sliding2d {
  Window2d window;  ///< with explicit padding
  Size2d output;    ///< how often it fits: rows and columns of the result
};

/// `dilation` is the distance of the window's taps, which `size` counts. Throws InvalidArgument, naming `op` and the
/// sizes, for sizes, strides or dilation below 1 and for an input without one
/// element or, with `valid` padding, smaller than the window.
Sliding2d slide_window(const char* op, const Shape& x, Size2d size, Size2d strides, Padding padding,
                       Size2d dilation = {1, 1});

}  // namespace lockstep
