#pragma once

#include <cstdint>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// How the window moves over the image, in Keras' words.
struct Conv2dOptions {
  Size2d strides = 1;                ///< rows and columns from one window to the next
  Padding padding = Padding::valid;  ///< of each image
  Size2d dilation = 1;               ///< distance of a window's taps
  std::int64_t groups = 1;  ///< parts of the channels that are convolved each with its own share of the filters
  Activation activation = Activation::linear;  ///< of the result
};

/// activation(x (n, h, w, c_in) * kernel (k_h, k_w, c_in / groups, c_out) + bias (c_out)) -> (n, h', w', c_out); the
/// bias may be undefined. Cross-correlation, as in Keras. Zero rows (n == 0) are allowed. x and the result are f32 or
/// bf16; kernel and bias f32. Throws InvalidArgument naming the shapes.
Tensor conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Conv2dOptions& options = {});

/// Each channel of x (n, h, w, c) convolved with filters of its own, kernel (k_h, k_w, c, multiplier), + bias
/// (c * multiplier), which may be undefined -> (n, h', w', c * multiplier), the results of one channel side by side.
/// `options.groups` is not read.
Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, Conv2dOptions options = {});

}  // namespace lockstep
