#include <algorithm>

#include <lockstep/kernels/matmul/matmul_kernels.h>

#include "kernels_bench.h"

namespace lockstep {
namespace {

struct DenseLayer {
  std::int64_t examples, inputs, outputs;
  Activation activation;
};

constexpr DenseLayer dense_layers[] = {
    // zoo::mlp, half of a global batch of 1024
    {512, 8000, 4000, Activation::tanh},
    {512, 4000, 2000, Activation::relu},
    {512, 2000, 500, Activation::relu},
    {512, 500, 300, Activation::relu},
    // zoo::siamese_lstm, half of a global batch of 128: the inputs of all steps together, then the state of one step
    {8960, 256, 256, Activation::linear},
    {64, 64, 256, Activation::linear},
};

/// A layer's tensors. Verifies <dy, y> = <dx, x> = <dkernel, kernel> of the product without activation, and one element
/// of y.
struct Dense {
  Tensor x, kernel, bias, y, dy, dx, dkernel, dbias;
  Activation activation;
  double flops;

  explicit Dense(const DenseLayer& layer)
      : x(uniform({layer.examples, layer.inputs}, 1)),
        kernel(uniform({layer.inputs, layer.outputs}, 2)),
        bias(uniform({layer.outputs}, 3)),
        y(Tensor::empty({layer.examples, layer.outputs})),
        dy(uniform(y.shape(), 4)),
        dx(Tensor::empty(x.shape())),
        dkernel(Tensor::empty(kernel.shape())),
        dbias(Tensor::empty(bias.shape())),
        activation(layer.activation),
        flops(2.0 * static_cast<double>(layer.examples * layer.inputs * layer.outputs)) {
    verify_last_element();
    kernels::run_on_cpu(kernels::Dense{x, kernel, {}, Activation::linear, y});
    gradient_x();
    gradient_kernel();
    verify(inner_product(dy, y), inner_product(dx, x), dy, y);
    verify(inner_product(dy, y), inner_product(dkernel, kernel), dy, y);
  }

  void forward() const { kernels::run_on_cpu(kernels::Dense{x, kernel, bias, activation, y}); }
  void gradient_x() const { kernels::run_on_cpu(kernels::DenseGradientX{dy, kernel, Write::replace, dx}); }
  void gradient_kernel() const { kernels::run_on_cpu(kernels::DenseGradientKernel{x, dy, dkernel, dbias}); }

 private:
  void verify_last_element() const {
    forward();
    const std::int64_t outputs = y.dim(1);
    double sum = bias.data<float>()[outputs - 1];
    for (std::int64_t i = 0; i < x.dim(1); ++i)
      sum += static_cast<double>(x.data<float>()[x.elements() - x.dim(1) + i]) *
             static_cast<double>(kernel.data<float>()[i * outputs + outputs - 1]);
    if (activation == Activation::tanh) sum = std::tanh(sum);
    if (activation == Activation::relu) sum = std::max(0.0, sum);
    verify_element("dense", y.data<float>()[y.elements() - 1], sum);
  }
};

void add_layer(const DenseLayer& layer) {
  const std::string size =
      std::to_string(layer.examples) + "x" + std::to_string(layer.inputs) + "x" + std::to_string(layer.outputs);
  const auto add = [&](const char* what, void (Dense::*run)() const) {
    benchmark::RegisterBenchmark(("dense/" + std::string(what) + "/" + size).c_str(),
                                 [layer, run](benchmark::State& state) {
                                   const Dense d(layer);
                                   time_flops(state, d.flops, [&] { (d.*run)(); });
                                 });
  };
  add("forward", &Dense::forward);
  add("gradient_x", &Dense::gradient_x);
  add("gradient_kernel", &Dense::gradient_kernel);
}

}  // namespace

void add_dense() {
  for (const DenseLayer& layer : dense_layers) add_layer(layer);
}

}  // namespace lockstep
