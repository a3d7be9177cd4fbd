#include <lockstep/kernels/convolution/convolution_kernels.h>

#include "kernels_bench.h"

namespace lockstep {
namespace {

/// A convolution's tensors. Verifies <dy, y> = <dx, x> = <dkernel, kernel>, and one element of y with a plain sum.
struct Convolution {
  Tensor x, kernel, y, dy, dx, dkernel;
  Window2d window;
  double flops;

  explicit Convolution(const ConvLayer& layer)
      : x(uniform({batch, layer.size, layer.size, layer.inputs}, 1)),
        kernel(uniform({layer.kernel, layer.kernel, layer.inputs, layer.outputs}, 2)) {
    const auto slide =
        slide_window("bench", x.shape(), {layer.kernel, layer.kernel}, {layer.stride, layer.stride}, layer.padding);
    window = slide.window;
    y = Tensor::empty({batch, slide.output.height, slide.output.width, layer.outputs});
    dy = uniform(y.shape(), 3);
    dx = Tensor::empty(x.shape());
    dkernel = Tensor::empty(kernel.shape());
    flops = 2.0 * static_cast<double>(y.elements() * layer.kernel * layer.kernel * layer.inputs);
    forward();
    gradient_x();
    gradient_kernel();
    verify(inner_product(dy, y), inner_product(dx, x), dy, y);
    verify(inner_product(dy, y), inner_product(dkernel, kernel), dy, y);
    verify_window();
  }

  void forward() const { kernels::run_on_cpu(kernels::Conv2d{x, kernel, {}, window, Activation::linear, y}); }
  void gradient_x() const { kernels::run_on_cpu(kernels::Conv2dGradientX{dy, kernel, window, Write::replace, dx}); }
  void gradient_kernel() const { kernels::run_on_cpu(kernels::Conv2dGradientKernel{x, dy, window, dkernel, {}}); }

 private:
  /// Checks the element in row 1, column 1 of the first image's result: its window has no padding on the left and top.
  void verify_window() const {
    const std::int64_t first = window.stride_h - window.pad_top;
    double sum = 0;
    for (std::int64_t i = 0; i < window.height; ++i)
      for (std::int64_t j = 0; j < window.width; ++j)
        for (std::int64_t c = 0; c < x.dim(3); ++c)
          sum += static_cast<double>(x.data<float>()[((first + i) * x.dim(2) + first + j) * x.dim(3) + c]) *
                 kernel.data<float>()[((i * window.width + j) * x.dim(3) + c) * kernel.dim(3)];
    const float found = y.data<float>()[(y.dim(2) + 1) * y.dim(3)];
    verify_element("conv2d", found, sum);
  }
};

void add_layer(const ConvLayer& layer) {
  const auto add = [&](const char* what, void (Convolution::*run)() const) {
    benchmark::RegisterBenchmark(("conv2d/" + std::string(what) + "/" + layer.name).c_str(),
                                 [layer, run](benchmark::State& state) {
                                   const Convolution c(layer);
                                   time_flops(state, c.flops, [&] { (c.*run)(); });
                                 });
  };
  add("forward", &Convolution::forward);
  add("gradient_x", &Convolution::gradient_x);
  add("gradient_kernel", &Convolution::gradient_kernel);
}

}  // namespace

void add_convolutions() {
  for (const ConvLayer& layer : conv_layers()) add_layer(layer);
}

}  // namespace lockstep
