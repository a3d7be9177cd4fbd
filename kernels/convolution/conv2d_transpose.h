#pragma once

#include <optional>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/window/window2d.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Keras' arguments of 2D transposed convolutions.
struct Conv2dTransposeOptions {
  Size2d strides = 1;                          ///< distance, in the result, between neighboring rows and columns of x
  Padding padding = Padding::valid;            ///< `same` cuts the borders of the result
  std::optional<Size2d> output_padding{};      ///< rows and columns added at the end, fewer than the strides
  Size2d dilation = 1;                         ///< distance between the window's taps
  Activation activation = Activation::linear;  ///< applied to the result
};

/// activation(transposed convolution of x (n, h, w, c_in) by kernel (k_h, k_w, c_out, c_in) + bias (c_out)) -> (n, h',
/// w', c_out), like keras.ops.conv_transpose: the gradient of conv2d with respect to its x. The bias may be undefined;
/// n may be 0. With r = (k_h - 1) * dilation + 1, the number of rows that a window spans, h' is as follows (w' is
/// analogous):
/// - `valid`: (h - 1) * stride + r + output_padding; the default output_padding is max(stride - r, 0)
/// - `same`: h * stride without output_padding, else (h - 1) * stride + r % 2 + output_padding
///
/// Differentiable. Takes the dtypes and throws the errors of conv2d. Also throws InvalidArgument unless 0 <=
/// output_padding < strides, for an x or a result without pixels, and for an x of 2^31 or more rows or columns.
Tensor conv2d_transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias,
                        const Conv2dTransposeOptions& options = {});

/// Returns the rows and columns of conv2d_transpose's result for x (n, h, w, c), and the window of the convolution
/// whose gradient conv2d_transpose computes. `size` is the kernel's number of rows and columns. Throws InvalidArgument,
/// with `op` in the message, for image sizes, window sizes and options that conv2d_transpose does not accept.
Sliding2d slide_transposed(const char* op, const Shape& x, Size2d size, const Conv2dTransposeOptions& options);

}  // namespace lockstep
