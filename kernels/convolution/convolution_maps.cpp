#include "lockstep/kernels/convolution/convolution_maps.h"

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/convolution/filters_first.h>
#include <lockstep/kernels/op/gradient.h>

namespace lockstep {
namespace {

/// Records a map of a and b whose gradients are of_a(dy, b) and of_b(a, dy).
template <class OfA, class OfB>
void record_map(const char* op, const Tensor& a, const Tensor& b, const Tensor& result, OfA of_a, OfB of_b) {
  if (!recording({a, b})) return;
  record(op, {a, b}, result, [a, b, of_a, of_b](BackwardContext& c) {
    contribute_ops(c, 0, [&] { return of_a(c.gradient(0), b); });
    contribute_ops(c, 1, [&] { return of_b(a, c.gradient(0)); });
  });
}

}  // namespace

Tensor ConvolutionMaps::result(const Tensor& input, const Tensor& weights) const {
  const Tensor a = dense_copy(input);
  const Tensor b = dense_copy(weights);
  const Tensor result = Tensor::empty(y, a.dtype());
  launch(kernels::Conv2d{a, b, {}, window, Activation::linear, result, filters_for_library(b, a.dtype())});
  record_map(
      "conv2d", a, b, result, [m = *this](const Tensor& dy, const Tensor& w) { return m.gradient_of_x(dy, w); },
      [m = *this](const Tensor& in, const Tensor& dy) { return m.gradient_of_kernel(in, dy); });
  return result;
}

Tensor ConvolutionMaps::gradient_of_x(const Tensor& dy, const Tensor& weights) const {
  const Tensor a = dense_copy(dy);
  const Tensor b = dense_copy(weights);
  const Tensor dx = Tensor::empty(x, a.dtype());
  launch(kernels::Conv2dGradientX{a, b, window, Write::replace, dx, filters_for_library(b, a.dtype())});
  record_map(
      "conv2d's gradient of x", a, b, dx, [m = *this](const Tensor& d, const Tensor& w) { return m.result(d, w); },
      [m = *this](const Tensor& upper, const Tensor& d) { return m.gradient_of_kernel(d, upper); });
  return dx;
}

Tensor ConvolutionMaps::gradient_of_kernel(const Tensor& input, const Tensor& dy) const {
  const Tensor a = dense_copy(input);
  const Tensor b = dense_copy(dy);
  const Tensor dkernel = Tensor::empty(kernel);
  launch(kernels::Conv2dGradientKernel{a, b, window, dkernel, {}});
  record_map(
      "conv2d's gradient of the kernel", a, b, dkernel,
      [m = *this](const Tensor& d, const Tensor& upper) { return m.gradient_of_x(upper, d); },
      [m = *this](const Tensor& in, const Tensor& d) { return m.result(in, d); });
  return dkernel;
}

}  // namespace lockstep
