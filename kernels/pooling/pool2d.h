#pragma once

#include <optional>

#include <lockstep/kernels/convolution/conv2d.h>

namespace lockstep {

/// How the window moves over the image, in Keras' words, and where the result goes.
struct Pool2dOptions {
  Size2d window = 2;                 ///< its size
  std::optional<Size2d> strides{};   ///< rows and columns from one window to the next; the window's, if not given
  Padding padding = Padding::valid;  ///< of each image
  /// Where to write the result, if defined: may be a channel slice of a wider tensor.
  Tensor out{};
};

/// Largest element of each window, (n, h, w, c) -> (n, h', w', c). Padding never wins. The gradient goes to the first
/// largest element. f32 or bf16.
Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options = {});
/// Mean of each window; padding is not counted. f32 or bf16.
Tensor average_pool2d(const Tensor& x, const Pool2dOptions& options = {});

}  // namespace lockstep
