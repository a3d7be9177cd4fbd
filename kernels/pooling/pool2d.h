#pragma once

#include <optional>

#include <lockstep/kernels/convolution/conv2d.h>

namespace lockstep {

/// Keras' arguments of 2D pooling, and the destination of the result.
struct Pool2dOptions {
  Size2d window = 2;                 ///< rows and columns of the window
  std::optional<Size2d> strides{};   ///< rows and columns from one window to the next; by default the window size
  Padding padding = Padding::valid;  ///< at the borders of each image
  /// If defined, the result is written to this tensor, which must be dense or a channel slice of a wider tensor.
  Tensor out{};
};

/// Largest element of each window of x (n, h, w, c), f32 or bf16 -> (n, h', w', c). Padded positions do not
/// take part in the maximum. NaN compares as larger than every number. Differentiable; if several elements are the
/// largest, the gradient goes to the first of them. Throws InvalidArgument for other shapes and dtypes, for windows
/// that do not fit (slide_window), and when options.out has another shape, dtype or layout.
Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options = {});
/// Mean of the elements of each window that are inside the image, without the padding. Differentiable. Takes the shapes
/// and dtypes and throws the errors of max_pool2d.
Tensor average_pool2d(const Tensor& x, const Pool2dOptions& options = {});

}  // namespace lockstep
