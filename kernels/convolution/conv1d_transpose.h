#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Keras' arguments of 1D transposed convolutions.
struct Conv1dTransposeOptions {
  std::int64_t stride = 1;                       ///< distance, in the result, between neighboring steps of x
  Padding padding = Padding::valid;              ///< `same` cuts the ends of the result
  std::optional<std::int64_t> output_padding{};  ///< steps added at the end, fewer than the stride
  std::int64_t dilation = 1;                     ///< distance between the window's taps
  Activation activation = Activation::linear;    ///< applied to the result
};

/// activation(transposed convolution of x (n, steps, c_in) by kernel (k, c_out, c_in) + bias (c_out)) -> (n, steps',
/// c_out), like keras.ops.conv_transpose; computed by conv2d_transpose, whose formulas give steps', on images of one
/// row. The bias may be undefined. Differentiable. Dtypes and errors are those of conv2d_transpose.
Tensor conv1d_transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias,
                        const Conv1dTransposeOptions& options = {});

/// The number of steps of conv1d_transpose's result for an x of rank 3, (n, steps, c). `size` is the number of taps of
/// the kernel. Throws the errors of slide_transposed (conv2d_transpose.h), with `op` in the message.
std::int64_t conv1d_transpose_steps(const char* op, const Shape& x, std::int64_t size,
                                    const Conv1dTransposeOptions& options);

}  // namespace lockstep
