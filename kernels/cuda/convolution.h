#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/window/window.h>

// cuDNN descriptor of a convolution. Nothing here needs a GPU or one of its libraries.

namespace lockstep::cudnn {

/// What a convolution computes from the two others of x, kernel and y.
enum class ConvolutionPass {
  forward,         ///< y
  gradient_x,      ///< dx from dy and the kernel
  gradient_kernel  ///< dkernel from x and dy
};

/// Sizes and strides, in elements, of a tensor's four axes in cuDNN's order: images, channels, rows, columns; of a
/// kernel: filters, channels of a group, rows, columns.
struct Layout {
  ///@{
  /// By axis, the order in memory being what the strides say.
  std::array<std::int64_t, 4> sizes;
  std::array<std::int64_t, 4> strides;
  ///@}
  /// From the first to the last in memory.
  std::int64_t elements() const;
  /// Equal in both.
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Rows and columns.
using Pair = std::array<std::int64_t, 2>;

/// Everything that the plan of a convolution depends on, but for the GPU; also the plan's key.
struct Convolution {
  /// From the shapes of kernels::Conv2d: x and y NHWC and of `dtype`, the kernel HWIO.
  Convolution(ConvolutionPass pass, DType dtype, const Shape& x, const Shape& kernel, const Shape& y,
              const Window2d& window);

  ConvolutionPass pass;  ///< which of the three
  /// Of all operands and the result, f32 or bf16; sums are f32. cuDNN 9 has no algorithm for bf16 with a result or a
  /// bias of f32.
  DType dtype;
  std::int64_t n;         ///< images
  std::int64_t channels;  ///< of x
  std::int64_t filters;   ///< channels of y
  std::int64_t groups;    ///< of channels and filters, each convolved by itself
  ///@{
  /// Rows and columns of the tensors, and of the window's steps.
  Pair x_size, kernel_size, y_size;
  Pair strides, pads_before, pads_after, dilation;
  ///@}
  bool bias = false;  ///< y += bias, of the forward pass
  bool relu = false;  ///< and y = max(0, y); only together with a bias

  /// Of x and dx, NHWC.
  Shape x_shape() const { return {n, x_size[0], x_size[1], channels}; }
  /// x and dx: NHWC.
  Layout x() const;
  /// The kernel as the graphs take it: filter by filter, the channels innermost.
  Layout kernel() const;
  /// y and dy: NHWC.
  Layout y() const;
  /// One element per filter.
  Layout bias_layout() const;
  /// All of it in one line: "convolution of f32 x (8, 32, 32, 3) with kernel (3, 3, 3, 96), strides (1, 1)".
  std::string text() const;

  /// By all of it.
  friend auto operator<=>(const Convolution&, const Convolution&) = default;
};

/// A kernel HWIO in the memory order of Convolution::kernel(), as a matrix its transpose, and in `dtype`.
Tensor filters_first(const Tensor& kernel, DType dtype);
/// Uninitialized memory for what filters_first gives of a kernel of this shape.
Tensor empty_filters_first(const Shape& kernel, DType dtype);
/// The way back: into a dense kernel HWIO of any dtype.
void filters_last(const Tensor& filters, const Tensor& kernel);

}  // namespace lockstep::cudnn
