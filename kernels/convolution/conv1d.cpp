#include "lockstep/kernels/convolution/conv1d.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/window/window2d.h>

namespace lockstep {
namespace {

void check_conv1d(const Tensor& x, const Tensor& kernel, const Tensor& bias, std::int64_t groups) {
  require(x.defined() && x.rank() == 3 && is_real(x.dtype()) && x.dim(2) >= 1,
          "conv1d: x must be f32 or bf16 (n, steps, channels), got {}", x);
  require(groups >= 1 && x.dim(2) % groups == 0, "conv1d: the {} channels of x {} cannot be divided into {} groups",
          x.dim(2), x.shape(), groups);
  require(kernel.defined() && kernel.rank() == 3 && kernel.dtype() == DType::f32 &&
              kernel.dim(1) == x.dim(2) / groups && kernel.dim(2) >= 1 && kernel.dim(2) % groups == 0,
          "conv1d: the kernel for x {} must be f32 (taps, {}, filters), filters a multiple of {}, got {}", x.shape(),
          x.dim(2) / groups, groups, kernel);
  require(!bias.defined() || (bias.shape() == Shape{kernel.dim(2)} && bias.dtype() == DType::f32),
          "conv1d: the bias for kernel {} must be f32 ({}), got {}", kernel.shape(), kernel.dim(2), bias);
}

}  // namespace

std::int64_t conv1d_steps(const char* op, const Shape& x, std::int64_t size, const Conv1dOptions& options) {
  require(size >= 1 && options.stride >= 1 && options.dilation >= 1,
          "{}: window, stride and dilation must be at least 1, got {}, {} and {}", op, size, options.stride,
          options.dilation);
  check_window_limits(op, size, options.stride, options.dilation);
  const std::int64_t reach = (size - 1) * options.dilation + 1;
  const std::int64_t least = options.padding == Padding1d::valid ? reach : 1;
  require(x[1] >= least, "{}: the window of {} does not fit into the {} steps of x {}", op, reach, x[1], x);
  return (x[1] - least) / options.stride + 1;
}

Tensor conv1d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Conv1dOptions& options) try {
  check_conv1d(x, kernel, bias, options.groups);
  conv1d_steps("conv1d", x.shape(), kernel.dim(0), options);
  const bool causal = options.padding == Padding1d::causal;
  const Tensor steps = causal ? pad(x, {{}, {(kernel.dim(0) - 1) * options.dilation, 0}, {}}) : x;
  const Tensor y = conv2d(expand_dims(steps, 1), expand_dims(kernel, 0), bias,
                          {.strides = {1, options.stride},
                           .padding = options.padding == Padding1d::same ? Padding::same : Padding::valid,
                           .dilation = {1, options.dilation},
                           .groups = options.groups,
                           .activation = options.activation});
  return reshape(y, {y.dim(0), y.dim(2), y.dim(3)});
} catch (Error& error) {
  rethrow_from("conv1d", error);
}

}  // namespace lockstep
