#include "lockstep/kernels/convolution/conv2d.h"

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/fused_activation.h>
#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/convolution/convolution_maps.h>
#include <lockstep/kernels/convolution/filters_first.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/kept_input.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/window/window2d.h>
#include <lockstep/kernels/write.h>

namespace lockstep {
namespace {

void check_conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, std::int64_t groups) {
  require(x.defined() && x.rank() == 4 && is_real(x.dtype()) && x.dim(3) >= 1,
          "conv2d: x must be f32 or bf16 (n, height, width, channels), got {}", x);
  require(groups >= 1 && x.dim(3) % groups == 0, "conv2d: the {} channels of x {} cannot be divided into {} groups",
          x.dim(3), x.shape(), groups);
  require(kernel.defined() && kernel.rank() == 4 && kernel.dtype() == DType::f32 &&
              kernel.dim(2) == x.dim(3) / groups && kernel.dim(3) >= 1 && kernel.dim(3) % groups == 0,
          "conv2d: the kernel for x {} must be f32 (height, width, {}, filters), filters a multiple of {}, got {}",
          x.shape(), x.dim(3) / groups, groups, kernel);
  require(!bias.defined() || (bias.shape() == Shape{kernel.dim(3)} && bias.dtype() == DType::f32),
          "conv2d: the bias for kernel {} must be f32 ({}), got {}", kernel.shape(), kernel.dim(3), bias);
}

/// Sum of dy over all but the last axis.
void sum_rows(const Tensor& dy, const Tensor& sum) {
  const std::int64_t channels = dy.dim(-1);
  launch(kernels::SumMiddle{dy.view({1, dy.elements() / channels, channels}), sum.view({1, channels})});
}

/// Contributes the gradients with respect to x, the kernel and the bias. dy: gradient with respect to the sums before
/// the activation. `cancels`: the bias has no effect, as before a batch normalization, and its gradient is 0.
void contribute_gradients(BackwardContext& c, const KeptInput& x, const Tensor& kernel, const Window2d& window,
                          const Tensor& dy, const Tensor& filters, bool cancels) {
  const Shape bias_shape{kernel.dim(3)};
  Tensor dbias;
  if (c.needs(1) && c.needs(2) && !cancels) dbias = memory_for(c, 2, bias_shape);  // comes with the kernel's gradient
  contribute(c, 1, kernel.shape(), [&](const Tensor& out) {
    launch(kernels::Conv2dGradientKernel{x.get(), dy, window, out, dbias});
  });
  if (cancels)
    contribute_zero(c, 2, bias_shape);
  else if (dbias.defined())
    hand_over(c, 2, dbias);
  else
    contribute(c, 2, bias_shape, [&](const Tensor& out) { sum_rows(dy, out); });
  contribute_or_add(
      c, 0, x.shape(),
      [&](Write write, const Tensor& out) {
        launch(kernels::Conv2dGradientX{dy, kernel, window, write, out, filters});
      },
      dy.dtype());
}

/// Same as contribute_gradients, but with ops, which a tape can differentiate again.
void contribute_by_ops(BackwardContext& c, const Tensor& x, const Tensor& kernel, const Window2d& window,
                       const Tensor& dy) {
  const ConvolutionMaps maps{window, x.shape(), kernel.shape(), dy.shape()};
  contribute_ops(c, 0, [&] { return maps.gradient_of_x(dy, kernel); });
  contribute_ops(c, 1, [&] { return maps.gradient_of_kernel(x, dy); });
  contribute_ops(c, 2, [&] { return sum(cast(dy, DType::f32), {0, 1, 2}); });
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Conv2dOptions& options) try {
  check_conv2d(x, kernel, bias, options.groups);
  if (!is_fusable(options.activation)) {
    Conv2dOptions plain = options;
    plain.activation = Activation::linear;
    return activate(conv2d(x, kernel, bias, plain), options.activation);
  }
  const auto [window, size] = slide_window("conv2d", x.shape(), {kernel.dim(0), kernel.dim(1)}, options.strides,
                                           options.padding, options.dilation);
  const Tensor input = dense_copy(x);
  const Tensor weights = dense_copy(kernel);
  const Tensor shift = bias.defined() ? dense_copy(bias) : bias;
  const Tensor y = Tensor::empty({x.dim(0), size.height, size.width, kernel.dim(3)}, x.dtype());
  const Tensor filters = filters_for_library(weights, x.dtype());
  launch(kernels::Conv2d{input, weights, shift, window, options.activation, y, filters});
  if (recording({input, weights, shift})) {
    const Activation activation = options.activation;
    const Tensor kept = activation == Activation::linear ? Tensor() : y;
    record("conv2d", {input, weights, shift}, y,
           [x = KeptInput(input), weights, filters, window = window, activation, kept](BackwardContext& c) {
             const Tensor dy = before_activation(activation, kept, c.gradient(0));
             if (c.is_recorded()) return contribute_by_ops(c, x.get(), weights, window, dy);
             contribute_gradients(c, x, weights, window, dy, filters,
                                  activation == Activation::linear && c.rows_sum_to_zero(0));
           });
  }
  return y;
} catch (Error& error) {
  rethrow_from("conv2d", error);
}

Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, Conv2dOptions options) try {
  require(x.defined() && is_real(x.dtype()) && x.rank() == 4,
          "depthwise_conv2d: x must be f32 or bf16 (n, height, width, channels), got {}", x);
  require(kernel.defined() && kernel.dtype() == DType::f32 && kernel.rank() == 4 && kernel.dim(2) == x.dim(3),
          "depthwise_conv2d: the kernel for x {} must be f32 (height, width, {}, multiplier), got {}", x.shape(),
          x.dim(3), kernel);
  options.groups = x.dim(3);
  return conv2d(x, reshape(kernel, {kernel.dim(0), kernel.dim(1), 1, kernel.dim(2) * kernel.dim(3)}), bias, options);
} catch (Error& error) {
  rethrow_from("depthwise_conv2d", error);
}

}  // namespace lockstep
