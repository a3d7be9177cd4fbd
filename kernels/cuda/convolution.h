#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/cuda/layout.h>
#include <lockstep/kernels/window/window.h>

// Description of a convolution for cuDNN. Does not need a GPU or NVIDIA's libraries.

namespace lockstep::cudnn {

/// The tensor that a convolution computes.
enum class ConvolutionPass {
  forward,         ///< y from x and the kernel
  gradient_x,      ///< dx from dy and the kernel
  gradient_kernel  ///< dkernel from x and dy
};

/// Rows and columns.
using Pair = std::array<std::int64_t, 2>;

/// The key of a convolution's plan: everything that the plan depends on, except the GPU.
struct Convolution {
  /// Takes the shapes of kernels::Conv2d (x and y NHWC, the kernel HWIO) and the `dtype` of all operands.
  Convolution(ConvolutionPass pass, DType dtype, const Shape& x, const Shape& kernel, const Shape& y,
              const Window2d& window);

  ConvolutionPass pass;  ///< which tensor is computed
  /// Type of all operands and the result: f32 or bf16; accumulation is in f32. cuDNN 9 has no algorithm for bf16
  /// operands with an f32 result or bias.
  DType dtype;
  std::int64_t n;         ///< images
  std::int64_t channels;  ///< channels of x
  std::int64_t filters;   ///< channels of y
  std::int64_t groups;    ///< groups of channels and filters, convolved separately
  ///@{
  /// In rows and columns: sizes of the tensors; strides, padding and dilation of the window.
  Pair x_size, kernel_size, y_size;
  Pair strides, pads_before, pads_after, dilation;
  ///@}
  bool bias = false;  ///< y += bias; forward pass only
  bool relu = false;  ///< y = max(0, y), after the bias; only if `bias`

  /// Shape of x and dx, NHWC.
  Shape x_shape() const { return {n, x_size[0], x_size[1], channels}; }
  /// Layout of x and dx: NHWC.
  Layout x() const;
  /// Layout of the kernel in cuDNN's graphs: filter by filter, channels innermost.
  Layout kernel() const;
  /// Layout of y and dy: NHWC.
  Layout y() const;
  /// Layout of the bias: one element per filter.
  Layout bias_layout() const;
  /// A description in one line: "convolution of f32 x (8, 32, 32, 3) with kernel (3, 3, 3, 96), strides (1, 1), ...".
  std::string text() const;

  /// Compares all members.
  friend auto operator<=>(const Convolution&, const Convolution&) = default;
};

}  // namespace lockstep::cudnn
