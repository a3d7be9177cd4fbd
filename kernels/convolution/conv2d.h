#pragma once

#include <cstdint>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Keras' arguments of 2D convolutions.
struct Conv2dOptions {
  Size2d strides = 1;                          ///< rows and columns from one window to the next
  Padding padding = Padding::valid;            ///< at the borders of each image
  Size2d dilation = 1;                         ///< distance between the window's taps
  std::int64_t groups = 1;                     ///< groups of channels, each convolved with its own share of the filters
  Activation activation = Activation::linear;  ///< applied to the result
};

/// activation(x (n, h, w, c_in) * kernel (k_h, k_w, c_in / groups, c_out) + bias (c_out)) -> (n, h', w', c_out); the
/// bias may be undefined. Cross-correlation, as in Keras. n may be 0. x and the result are f32 or bf16; kernel and bias
/// are f32. Differentiable. Throws InvalidArgument for other shapes and dtypes, if `groups` does not divide the numbers
/// of channels and filters, and for windows that slide_window (window2d.h) rejects.
Tensor conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Conv2dOptions& options = {});

/// Convolves each channel of x (n, h, w, c) with its own `multiplier` filters: kernel (k_h, k_w, c, multiplier), bias
/// (c * multiplier) or undefined -> (n, h', w', c * multiplier), the results of one channel next to each other. Takes
/// the dtypes and throws the errors of conv2d; `options.groups` is ignored.
Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, Conv2dOptions options = {});

}  // namespace lockstep
