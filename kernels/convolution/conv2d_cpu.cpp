// Convolutions on oneDNN. Images stay in plain NHWC; kernels are reordered between plain HWIO and the layout and type
// that the primitive likes on each call, which takes less than 1 % of a convolution's time. Most windows of 3x3 go
// another way (winograd.h), and so do gradients of windows of one pixel, which are matrix products of all pixels,
// gradients of images with strides (phases.h) and, on processors with tile registers, gradients of kernels in bf16
// (amx_convolution.h).

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/fused_activation.h>
#include <lockstep/kernels/convolution/amx_convolution.h>
#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/convolution/phases.h>
#include <lockstep/kernels/convolution/pixel_products.h>
#include <lockstep/kernels/convolution/winograd.h>
#include <lockstep/kernels/cpu/onednn.h>
#include <lockstep/kernels/cpu/wide.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>
#include <lockstep/kernels/matmul/matmul_kernels.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

using cpu::better_wide;
using cpu::narrowed;
using cpu::widened;
using dnnl::memory;
using Tag = memory::format_tag;

/// A convolution in oneDNN's order of axes, with descriptions of the plain layouts. A kernel (h, w, in, out) of several
/// groups has each group's results side by side: to oneDNN it is (h, w, in, groups, out / groups).
struct Geometry {
  memory::dims strides, dilation, pad_begin, pad_end;
  memory::desc x, y, kernel, bias;
  ///@{
  /// In the layouts that the primitives like. That which is read is of x's type; the gradient is f32.
  memory::desc any_kernel, any_kernel_gradient;
  ///@}
  Activation activation;
  onednn::PlanKey key;

  Geometry(const Shape& x_shape, const Shape& kernel_shape, const Shape& y_shape, DType dtype, const Window2d& w,
           const Tensor& bias_of = {}, Activation after = Activation::linear)
      : strides{w.stride_h, w.stride_w},
        dilation{w.dilation_h - 1, w.dilation_w - 1},
        pad_begin{w.pad_top, w.pad_left},
        pad_end{w.pad_bottom, w.pad_right},
        x(images(x_shape, dtype)),
        y(images(y_shape, dtype)),
        kernel(kernel_of(kernel_shape, x_shape[3] / kernel_shape[2], DType::f32, true)),
        bias(bias_of.defined() ? memory::desc({kernel_shape[3]}, memory::data_type::f32, Tag::x) : memory::desc()),
        any_kernel(kernel_of(kernel_shape, x_shape[3] / kernel_shape[2], dtype, false)),
        any_kernel_gradient(kernel_of(kernel_shape, x_shape[3] / kernel_shape[2], DType::f32, false)),
        activation(after),
        key{x_shape[0],
            x_shape[1],
            x_shape[2],
            x_shape[3],
            w.height,
            w.width,
            kernel_shape[2],
            kernel_shape[3],
            w.stride_h,
            w.stride_w,
            w.dilation_h,
            w.dilation_w,
            w.pad_top,
            w.pad_left,
            w.pad_bottom,
            w.pad_right,
            bias_of.defined(),
            static_cast<std::int64_t>(after),
            static_cast<std::int64_t>(dtype)} {}

 private:
  static memory::desc images(const Shape& s, DType dtype) {
    return {{s[0], s[3], s[1], s[2]}, onednn::data_type(dtype), Tag::nhwc};
  }
  static memory::desc kernel_of(const Shape& s, std::int64_t groups, DType dtype, bool plain) {
    const memory::data_type type = onednn::data_type(dtype);
    if (groups == 1) return {{s[3], s[2], s[0], s[1]}, type, plain ? Tag::hwio : Tag::any};
    return {{groups, s[3] / groups, s[2], s[0], s[1]}, type, plain ? Tag::hwigo : Tag::any};
  }
};

constexpr auto direct = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc describe_forward(const Geometry& g) {
  return onednn::describe<dnnl::convolution_forward>(onednn::attributes(g.activation),
                                                     dnnl::prop_kind::forward_training, direct, g.x, g.any_kernel,
                                                     g.bias, g.y, g.strides, g.dilation, g.pad_begin, g.pad_end);
}

onednn::Plan forward_plan(const Geometry& g) {
  const auto description = describe_forward(g);
  return onednn::reading_plan(description, dnnl::convolution_forward(description), g.kernel);
}

onednn::Plan gradient_x_plan(const Geometry& g) {
  const auto description = onednn::describe_gradient<dnnl::convolution_backward_data>(
      describe_forward(g), onednn::attributes(), direct, g.x, g.any_kernel, g.y, g.strides, g.dilation, g.pad_begin,
      g.pad_end);
  return onednn::reading_plan(description, dnnl::convolution_backward_data(description), g.kernel);
}

onednn::Plan gradient_kernel_plan(const Geometry& g) {
  const auto description = onednn::describe_gradient<dnnl::convolution_backward_weights>(
      describe_forward(g), onednn::attributes(), direct, g.x, g.any_kernel_gradient, g.bias, g.y, g.strides, g.dilation,
      g.pad_begin, g.pad_end);
  onednn::Plan plan{dnnl::convolution_backward_weights(description),
                    description.scratchpad_desc(),
                    description.diff_weights_desc(),
                    {}};
  if (plan.weights != g.kernel)
    plan.reorder = dnnl::reorder({onednn::engine(), plan.weights, onednn::engine(), g.kernel});
  return plan;
}

/// Whether Winograd's algorithm, which multiplies in f32, is faster. It is not for bf16 on CPUs with AMX, whose tiles
/// do 16 times as many multiplications in bf16.
bool by_winograd(const Tensor& x, const Shape& kernel, const Window2d& window) {
  const bool by_tiles = x.dtype() == DType::bf16 && onednn::has_tiles();
  return !by_tiles && winograd::is_faster(x, kernel, window);
}

/// For a convolution with windows of one pixel: calls body(pixel, row) for each pixel of y. `pixel` is the offset in x
/// of the pixel that the window covers, `row` the offset of the corresponding row in a matrix of x's channels.
template <class Body>
void for_each_seen(const Tensor& x, const Tensor& y, const Window2d& w, const Body& body) {
  const std::int64_t channels = x.dim(3);
  parallel_for(y.dim(0) * y.dim(1), 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t first = (row / y.dim(1) * x.dim(1) + row % y.dim(1) * w.stride_h) * x.dim(2);
      for (std::int64_t column = 0; column < y.dim(2); ++column)
        body((first + column * w.stride_w) * channels, (row * y.dim(2) + column) * channels);
    }
  });
}

/// The pixels of x that windows of one pixel cover, as the rows of a matrix.
Tensor seen(const Tensor& x, const Tensor& y, const Window2d& w) {
  if (sees_all(w)) return pixels(x);
  const Tensor rows = Tensor::empty({y.elements() / y.dim(3), x.dim(3)}, x.dtype());
  visit_real(x.dtype(), [&]<class T>() {
    T* const to = rows.data<T>();
    const T* const from = x.data<T>();
    for_each_seen(x, y, w,
                  [&](std::int64_t of_x, std::int64_t of_y) { std::copy_n(from + of_x, x.dim(3), to + of_y); });
  });
  return rows;
}

/// Reverses `seen`, for f32: writes or adds (`write`) the rows to the pixels of x that windows cover. Other pixels are
/// not changed.
void write_seen(const Tensor& rows, const Tensor& y, const Window2d& w, Write write, const Tensor& x) {
  float* const to = x.data<float>();
  const float* const from = rows.data<float>();
  const std::int64_t channels = x.dim(3);
  for_each_seen(x, y, w, [&](std::int64_t of_x, std::int64_t of_y) {
    if (write == Write::replace)
      std::copy_n(from + of_y, channels, to + of_x);
    else
      std::transform(from + of_y, from + of_y + channels, to + of_x, to + of_x, std::plus<>());
  });
}

/// Computes the gradient with respect to x of a convolution with windows of one pixel, f32; replaces dx or adds to it
/// (`write`).
void gradient_x_as_product(const Tensor& dy, const Tensor& kernel, const Window2d& w, Write write, const Tensor& dx) {
  if (sees_all(w)) return kernels::DenseGradientX{pixels(dy), as_matrix(kernel), write, pixels(dx)}.on_cpu();
  const Tensor rows = Tensor::empty({dy.elements() / dy.dim(3), dx.dim(3)});
  kernels::DenseGradientX{pixels(dy), as_matrix(kernel), Write::replace, rows}.on_cpu();
  if (write == Write::replace) kernels::Fill{dx, 0}.on_cpu();
  write_seen(rows, dy, w, write, dx);
}

/// Computes the kernel's gradient if lockstep has a faster algorithm for it than oneDNN's convolution; otherwise
/// returns false.
bool own_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel) {
  const Shape& kernel = dkernel.shape();
  if (onednn::has_tiles() && amx::fits(x, kernel, window))
    amx::conv2d_gradient_kernel(x, dy, window, dkernel);
  else if (by_winograd(x, kernel, window))
    winograd::conv2d_gradient_kernel(x, dy, window, dkernel);
  else if (is_product(x, kernel, window))
    kernels::DenseGradientKernel{seen(x, dy, window), pixels(dy), as_matrix(dkernel), {}}.on_cpu();
  else
    return false;
  return true;
}

}  // namespace

void kernels::Conv2d::on_cpu() const {
  if (y.elements() == 0) return;
  if (by_winograd(x, kernel.shape(), window)) {
    winograd::conv2d(x, kernel, bias, window, y);
    if (const auto function = function_of(activation)) kernels::Unary{*function, y, y}.on_cpu();
    return;
  }
  if (better_wide(x))
    return narrowed(
        y, [&](const Tensor& wide) { kernels::Conv2d{widened(x), kernel, bias, window, activation, wide}.on_cpu(); });
  thread_local onednn::PlanCache plans("convolution");
  const Activation within = onednn::applies(activation) ? activation : Activation::linear;
  const Geometry g(x.shape(), kernel.shape(), y.shape(), x.dtype(), window, bias, within);
  const onednn::Plan& plan = plans.get(g.key, [&] { return forward_plan(g); });
  const Tensor weights = onednn::in_layout_of(plan, g.kernel, kernel);
  onednn::Arguments arguments{{DNNL_ARG_SRC, onednn::bind(g.x, x)},
                              {DNNL_ARG_WEIGHTS, onednn::bind(plan.weights, weights)},
                              {DNNL_ARG_DST, onednn::bind(g.y, y)}};
  if (bias.defined()) arguments.emplace(DNNL_ARG_BIAS, onednn::bind(g.bias, bias));
  onednn::execute("a convolution", plan, std::move(arguments));
  if (within != activation) kernels::Unary{*function_of(activation), y, y}.on_cpu();
}

void kernels::Conv2dGradientX::on_cpu() const {
  if (dx.elements() == 0) return;
  if (by_winograd(dx, kernel.shape(), window)) return winograd::conv2d_gradient_x(dy, kernel, window, write, dx);
  if (dx.dtype() == DType::f32 && is_product(dx, kernel.shape(), window))
    return gradient_x_as_product(dy, kernel, window, write, dx);
  if (phases::is_faster(dx, kernel.shape(), dy, window))
    return phases::conv2d_gradient_x(dy, kernel, window, write, dx);
  if (write == Write::add) {
    const Tensor apart = Tensor::empty(dx.shape(), dx.dtype());
    kernels::Conv2dGradientX{dy, kernel, window, Write::replace, apart}.on_cpu();
    return kernels::Binary{BinaryOp::add, dx, apart, dx}.on_cpu();
  }
  if (better_wide(dx))
    return narrowed(dx, [&](const Tensor& wide) {
      kernels::Conv2dGradientX{widened(dy), kernel, window, Write::replace, wide}.on_cpu();
    });
  thread_local onednn::PlanCache plans("data gradient of a convolution");
  const Geometry g(dx.shape(), kernel.shape(), dy.shape(), dx.dtype(), window);
  const onednn::Plan& plan = plans.get(g.key, [&] { return gradient_x_plan(g); });
  const Tensor weights = onednn::in_layout_of(plan, g.kernel, kernel);
  onednn::execute("a data gradient of a convolution", plan,
                  {{DNNL_ARG_DIFF_DST, onednn::bind(g.y, dy)},
                   {DNNL_ARG_WEIGHTS, onednn::bind(plan.weights, weights)},
                   {DNNL_ARG_DIFF_SRC, onednn::bind(g.x, dx)}});
}

void kernels::Conv2dGradientKernel::on_cpu() const {
  if (dy.elements() == 0) {
    kernels::Fill{dkernel, 0}.on_cpu();
    if (dbias.defined()) kernels::Fill{dbias, 0}.on_cpu();
    return;
  }
  if (own_gradient_kernel(x, dy, window, dkernel)) {
    if (dbias.defined())
      kernels::SumMiddle{dy.view({1, dy.elements() / dy.dim(3), dy.dim(3)}), dbias.view({1, dbias.elements()})}
          .on_cpu();
    return;
  }
  if (better_wide(x)) return kernels::Conv2dGradientKernel{widened(x), widened(dy), window, dkernel, dbias}.on_cpu();
  thread_local onednn::PlanCache plans("kernel gradient of a convolution");
  const Geometry g(x.shape(), dkernel.shape(), dy.shape(), x.dtype(), window, dbias);
  const onednn::Plan& plan = plans.get(g.key, [&] { return gradient_kernel_plan(g); });
  const Tensor gradient = plan.reorder ? onednn::allocate(plan.weights) : dkernel;
  onednn::Arguments arguments{{DNNL_ARG_SRC, onednn::bind(g.x, x)},
                              {DNNL_ARG_DIFF_DST, onednn::bind(g.y, dy)},
                              {DNNL_ARG_DIFF_WEIGHTS, onednn::bind(plan.weights, gradient)}};
  if (dbias.defined()) arguments.emplace(DNNL_ARG_DIFF_BIAS, onednn::bind(g.bias, dbias));
  onednn::execute("a kernel gradient of a convolution", plan, std::move(arguments));
  if (plan.reorder)
    onednn::execute(
        "a reorder of a kernel", plan.reorder,
        {{DNNL_ARG_FROM, onednn::bind(plan.weights, gradient)}, {DNNL_ARG_TO, onednn::bind(g.kernel, dkernel)}});
}

}  // namespace lockstep
