#include "lockstep/kernels/convolution/conv2d_transpose.h"

#include <algorithm>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/convolution/convolution_maps.h>
#include <lockstep/kernels/convolution/filters_first.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/kept_input.h>

namespace lockstep {
namespace {

/// `reach`: rows or columns from the window's first tap to its last one.
SlidingAxis slide_axis(std::int64_t input, std::int64_t reach, std::int64_t stride, Padding padding,
                       std::optional<std::int64_t> output_padding) {
  const std::int64_t before_last = (input - 1) * stride;
  if (padding == Padding::valid)
    return {.output = before_last + reach + output_padding.value_or(std::max<std::int64_t>(stride - reach, 0))};
  const std::int64_t output = output_padding ? before_last + reach % 2 + *output_padding : input * stride;
  const std::int64_t pad = std::max<std::int64_t>(before_last + reach - output, 0);
  return {.output = output, .pad_begin = pad / 2, .pad_end = pad - pad / 2};
}

void check_conv2d_transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias) {
  require(x.defined() && x.rank() == 4 && is_real(x.dtype()) && x.dim(3) >= 1,
          "conv2d_transpose: x must be f32 or bf16 (n, height, width, channels), got {}", x);
  require(kernel.defined() && kernel.rank() == 4 && kernel.dtype() == DType::f32 && kernel.dim(3) == x.dim(3) &&
              kernel.dim(2) >= 1,
          "conv2d_transpose: the kernel for x {} must be f32 (height, width, filters, {}), got {}", x.shape(), x.dim(3),
          kernel);
  require(!bias.defined() || (bias.shape() == Shape{kernel.dim(2)} && bias.dtype() == DType::f32),
          "conv2d_transpose: the bias for kernel {} must be f32 ({}), got {}", kernel.shape(), kernel.dim(2), bias);
}

/// Without a bias and an activation.
Tensor plain(const Tensor& x, const Tensor& kernel, const Window2d& window, Size2d size) {
  const Tensor y = Tensor::empty({x.dim(0), size.height, size.width, kernel.dim(2)}, x.dtype());
  const Tensor filters = filters_for_library(kernel, x.dtype());
  launch(kernels::Conv2dGradientX{x, kernel, window, Write::replace, y, filters});
  if (recording({x, kernel})) {
    record("conv2d_transpose", {x, kernel}, y, [x = KeptInput(x), kernel, window, filters](BackwardContext& c) {
      if (c.is_recorded()) {
        const ConvolutionMaps maps{window, c.gradient(0).shape(), kernel.shape(), x.shape()};
        contribute_ops(c, 0, [&] { return maps.result(c.gradient(0), kernel); });
        return contribute_ops(c, 1, [&] { return maps.gradient_of_kernel(c.gradient(0), x.get()); });
      }
      const Tensor dy = make_dense(c.gradient(0));
      contribute(c, 1, kernel.shape(), [&](const Tensor& out) {
        launch(kernels::Conv2dGradientKernel{dy, x.get(), window, out, {}});
      });
      contribute(
          c, 0, x.shape(),
          [&](const Tensor& out) {
            launch(kernels::Conv2d{dy, kernel, {}, window, Activation::linear, out, filters});
          },
          dy.dtype());
    });
  }
  return y;
}

}  // namespace

Sliding2d slide_transposed(const char* op, const Shape& x, Size2d size, const Conv2dTransposeOptions& options) {
  const Size2d& strides = options.strides;
  const Size2d& dilation = options.dilation;
  require(size.height >= 1 && size.width >= 1 && strides.height >= 1 && strides.width >= 1 && dilation.height >= 1 &&
              dilation.width >= 1,
          "{}: window, strides and dilation must be at least 1, got {} x {}, {} x {} and {} x {}", op, size.height,
          size.width, strides.height, strides.width, dilation.height, dilation.width);
  check_window_limits(op, size, strides, dilation);
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  require(x[1] < limit && x[2] < limit, "{}: x must be of less than 2^31 rows and columns, got {}", op, x);
  const Size2d added = options.output_padding.value_or(0);
  require(added.height >= 0 && added.height < strides.height && added.width >= 0 && added.width < strides.width,
          "{}: the output_padding must be at least 0 and below the strides, got {} x {} for {} x {}", op, added.height,
          added.width, strides.height, strides.width);
  const auto along = [&](std::int64_t Size2d::*axis, std::int64_t input) {
    return slide_axis(input, (size.*axis - 1) * dilation.*axis + 1, strides.*axis, options.padding,
                      options.output_padding ? std::optional(added.*axis) : std::nullopt);
  };
  const SlidingAxis rows = along(&Size2d::height, x[1]);
  const SlidingAxis columns = along(&Size2d::width, x[2]);
  require(x[1] >= 1 && x[2] >= 1 && rows.output >= 1 && columns.output >= 1,
          "{}: x {} gives a result of {} x {} pixels; at least one is needed", op, x, rows.output, columns.output);
  return sliding_window(size, strides, dilation, rows, columns);
}

Tensor conv2d_transpose(const Tensor& x, const Tensor& kernel, const Tensor& bias,
                        const Conv2dTransposeOptions& options) try {
  check_conv2d_transpose(x, kernel, bias);
  const auto [window, size] = slide_transposed("conv2d_transpose", x.shape(), {kernel.dim(0), kernel.dim(1)}, options);
  const Tensor y = plain(dense_copy(x), dense_copy(kernel), window, size);
  return activate(bias.defined() ? y + cast(bias, y.dtype()) : y, options.activation);
} catch (Error& error) {
  rethrow_from("conv2d_transpose", error);
}

}  // namespace lockstep
