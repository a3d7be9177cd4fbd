#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A window that slides over the spatial axes of x (n, h, w, c), with Keras' padding made explicit.
struct Sliding2d {
  Window2d window;  ///< with explicit padding
  Size2d output;    ///< rows and columns of the result
};

/// Throws InvalidArgument naming `op` unless sizes, strides and dilations of a window are below 2^31, so that their
/// products fit in 64 bits.
void check_window_limits(const char* op, Size2d size, Size2d strides, Size2d dilation);

/// Makes the window from Keras' arguments. `size` is the number of the window's taps along each axis, `dilation` the
/// distance between taps. Throws InvalidArgument naming `op` and the sizes when x is not of rank 4, when a size, stride
/// or dilation is below 1 or beyond check_window_limits, when x has no rows or no columns, and, with `valid` padding,
/// when x is smaller than (size - 1) * dilation + 1.
Sliding2d slide_window(const char* op, const Shape& x, Size2d size, Size2d strides, Padding padding,
                       Size2d dilation = {1, 1});

/// A sliding window along one axis.
struct SlidingAxis {
  std::int64_t output = 0;     ///< size of the result
  std::int64_t pad_begin = 0;  ///< elements of padding before the first one of x
  std::int64_t pad_end = 0;    ///< elements of padding after the last one of x
};

/// Combines the windows along both axes. Checks nothing.
Sliding2d sliding_window(Size2d size, Size2d strides, Size2d dilation, const SlidingAxis& rows,
                         const SlidingAxis& columns);

}  // namespace lockstep
