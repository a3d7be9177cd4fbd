#pragma once

#include <cstdint>

#include <lockstep/kernels/activation.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// `valid` and `same` as in Padding (window.h); `causal` pads only before the first step, so that no result depends on
/// later steps.
enum class Padding1d { valid, same, causal };

/// Keras' arguments of 1D convolutions.
struct Conv1dOptions {
  std::int64_t stride = 1;                     ///< steps from one window to the next
  Padding1d padding = Padding1d::valid;        ///< at the ends of each sequence
  std::int64_t dilation = 1;                   ///< distance between the window's taps
  std::int64_t groups = 1;                     ///< groups of channels, each convolved with its own share of the filters
  Activation activation = Activation::linear;  ///< applied to the result
};

/// activation(x (n, steps, c_in) * kernel (k, c_in / groups, c_out) + bias (c_out)) -> (n, steps', c_out); computed by
/// conv2d on images of one row. The bias may be undefined. Takes the dtypes and throws the errors of conv2d.
Tensor conv1d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Conv1dOptions& options = {});

/// The number of steps of conv1d's result for an x of rank 3, (n, steps, c). `size` is the number of taps of the
/// window. Throws InvalidArgument naming `op` if size, stride or dilation is below 1 or too large for
/// check_window_limits (window2d.h), if x has no steps, and, with `valid` padding, if x is shorter than the dilated
/// window of (size - 1) * dilation + 1 steps.
std::int64_t conv1d_steps(const char* op, const Shape& x, std::int64_t size, const Conv1dOptions& options);

}  // namespace lockstep
