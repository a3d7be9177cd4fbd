// Google Benchmark of single kernels at MiniGoogLeNet's shapes, batch 64, one thread.

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <lockstep/kernels/ops/window2d.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr std::int64_t batch = 64;

struct ConvLayer {
  const char* name;
  std::int64_t size, inputs, kernel, stride, outputs;
  Padding padding = Padding::same;
};

const std::vector<ConvLayer> conv_layers{
    {"stem_3x3", 32, 3, 3, 1, 96},  {"1a_1x1", 32, 96, 1, 1, 32},  {"1a_3x3", 32, 96, 3, 1, 32},
    {"1b_1x1", 32, 64, 1, 1, 32},   {"1b_3x3", 32, 64, 3, 1, 48},  {"1_down", 32, 80, 3, 2, 80, Padding::valid},
    {"2a_1x1", 15, 160, 1, 1, 112}, {"2a_3x3", 15, 160, 3, 1, 48}, {"2b_1x1", 15, 160, 1, 1, 96},
    {"2b_3x3", 15, 160, 3, 1, 64},  {"2c_1x1", 15, 160, 1, 1, 80}, {"2c_3x3", 15, 160, 3, 1, 80},
    {"2d_1x1", 15, 160, 1, 1, 48},  {"2d_3x3", 15, 160, 3, 1, 96}, {"2_down", 15, 144, 3, 2, 96, Padding::valid},
    {"3a_1x1", 7, 240, 1, 1, 176},  {"3a_3x3", 7, 240, 3, 1, 160}, {"3b_1x1", 7, 336, 1, 1, 176},
    {"3b_3x3", 7, 336, 3, 1, 160},
};

struct PoolLayer {
  const char* name;
  std::int64_t size, channels, window, stride;
};

const std::vector<PoolLayer> max_pool_layers{{"1_down", 32, 80, 3, 2}, {"2_down", 15, 144, 3, 2}};
const PoolLayer average_pool_layer{"global", 7, 336, 7, 1};

Tensor uniform(const Shape& shape, unsigned seed) {
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  Tensor result = Tensor::empty(shape);
  for (float& value : result.span<float>()) value = distribution(generator);
  return result;
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  const auto left = a.span<float>();
  const auto right = b.span<float>();
  for (std::size_t i = 0; i < left.size(); ++i) sum += static_cast<double>(left[i]) * right[i];
  return sum;
}

/// Two ways to compute one inner product of `a` and `b`: equal but for rounding.
void verify(double one, double other, const Tensor& a, const Tensor& b) {
  const double scale = std::sqrt(dot(a, a) * dot(b, b));
  require<BrokenInvariant>(std::abs(one - other) <= 1e-5 * scale, "a kernel computes {}, not {}", one, other);
}

void report(benchmark::State& state, const char* counter, double amount) {
  state.counters[counter] =
      benchmark::Counter(amount * 1e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

template <class Run>
void time(benchmark::State& state, const char* counter, double amount, Run&& run) {
  for (auto _ : state) run();
  report(state, counter, amount);
}

/// A convolution's tensors; verified by <dy, y> = <dx, x> = <dkernel, kernel>, and y by one element's plain sum.
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
    verify(dot(dy, y), dot(dx, x), dy, y);
    verify(dot(dy, y), dot(dkernel, kernel), dy, y);
    verify_element();
  }

  void forward() const { backend(DeviceKind::cpu).conv2d(x, kernel, {}, window, Activation::linear, y); }
  void gradient_x() const { backend(DeviceKind::cpu).conv2d_gradient_x(dy, kernel, window, dx); }
  void gradient_kernel() const { backend(DeviceKind::cpu).conv2d_gradient_kernel(x, dy, window, dkernel, {}); }

 private:
  /// The second result of the second row of the first image: its window has no padding on the left and top.
  void verify_element() const {
    const std::int64_t first = window.stride_h - window.pad_top;
    double sum = 0;
    for (std::int64_t i = 0; i < window.height; ++i)
      for (std::int64_t j = 0; j < window.width; ++j)
        for (std::int64_t c = 0; c < x.dim(3); ++c)
          sum += static_cast<double>(x.data<float>()[((first + i) * x.dim(2) + first + j) * x.dim(3) + c]) *
                 kernel.data<float>()[((i * window.width + j) * x.dim(3) + c) * kernel.dim(3)];
    const float found = y.data<float>()[(y.dim(2) + 1) * y.dim(3)];
    require<BrokenInvariant>(std::abs(found - sum) < 1e-3, "conv2d computes {}, not {}", found, sum);
  }
};

/// Batch normalization with ReLU of a convolution's result, as the layer's rows of channels.
struct Normalization {
  Tensor x, y, dy, gamma, beta, mean, variance, dgamma, dbeta;
  double gigabytes_per_touch;

  Normalization(std::int64_t size, std::int64_t channels)
      : x(uniform({batch, size, size, channels}, 1)),
        y(Tensor::empty(x.shape())),
        dy(uniform(x.shape(), 2)),
        gamma(Tensor::full({channels}, 1)),
        beta(Tensor::zeros({channels})),
        mean(Tensor::empty({channels})),
        variance(Tensor::empty({channels})),
        dgamma(Tensor::empty({channels})),
        dbeta(Tensor::empty({channels})),
        gigabytes_per_touch(4.0 * static_cast<double>(x.elements())) {
    moments();
    backend(DeviceKind::cpu).batch_norm(x, gamma, beta, mean, variance, 0, false, y);
    backend(DeviceKind::cpu).channel_moments(y, dgamma, dbeta);
    for (std::int64_t k = 0; k < channels; ++k)
      require<BrokenInvariant>(std::abs(dgamma.data<float>()[k]) < 1e-4 && std::abs(dbeta.data<float>()[k] - 1) < 1e-4,
                               "normalized channel {} has mean {} and variance {}", k, dgamma.data<float>()[k],
                               dbeta.data<float>()[k]);
  }

  void moments() const { backend(DeviceKind::cpu).channel_moments(x, mean, variance); }
  void apply() const { backend(DeviceKind::cpu).batch_norm(x, gamma, beta, mean, variance, 1e-3F, true, y); }
  void gradient() const {
    Backend& cpu = backend(DeviceKind::cpu);
    cpu.batch_norm_gradient_sums(x, gamma, beta, mean, variance, 1e-3F, true, dy, dgamma, dbeta);
    cpu.batch_norm_gradient_x(x, gamma, beta, mean, variance, 1e-3F, true, dy, dgamma, dbeta, x.elements() / x.dim(-1),
                              y);
  }
};

void add_convolution(const ConvLayer& layer) {
  const auto add = [&](const char* what, void (Convolution::*run)() const) {
    benchmark::RegisterBenchmark(("conv2d/" + std::string(what) + "/" + layer.name).c_str(),
                                 [layer, run](benchmark::State& state) {
                                   const Convolution c(layer);
                                   time(state, "GFLOP/s", c.flops, [&] { (c.*run)(); });
                                 });
  };
  add("forward", &Convolution::forward);
  add("gradient_x", &Convolution::gradient_x);
  add("gradient_kernel", &Convolution::gradient_kernel);
}

void add_normalization(const ConvLayer& layer) {
  const std::int64_t size = slide_window("bench", {batch, layer.size, layer.size, 1}, {layer.kernel, layer.kernel},
                                         {layer.stride, layer.stride}, layer.padding)
                                .output.height;
  const auto add = [&](const char* what, double touches, void (Normalization::*run)() const) {
    benchmark::RegisterBenchmark(("batch_norm/" + std::string(what) + "/" + layer.name).c_str(),
                                 [size, layer, touches, run](benchmark::State& state) {
                                   const Normalization n(size, layer.outputs);
                                   time(state, "GB/s", touches * n.gigabytes_per_touch, [&] { (n.*run)(); });
                                 });
  };
  add("moments", 1, &Normalization::moments);
  add("apply", 2, &Normalization::apply);
  add("gradient", 5, &Normalization::gradient);
}

void add_pooling(const PoolLayer& layer, bool largest) {
  const std::string name = std::string(largest ? "max_pool2d/" : "average_pool2d/");
  const auto add = [&](const char* what, bool forward) {
    benchmark::RegisterBenchmark((name + what + "/" + layer.name).c_str(), [=](benchmark::State& state) {
      Backend& cpu = backend(DeviceKind::cpu);
      const Tensor x = uniform({batch, layer.size, layer.size, layer.channels}, 1);
      const auto slide =
          slide_window("bench", x.shape(), {layer.window, layer.window}, {layer.stride, layer.stride}, Padding::valid);
      const Tensor y = Tensor::empty({batch, slide.output.height, slide.output.width, layer.channels});
      const Tensor dx = Tensor::empty(x.shape());
      largest ? cpu.max_pool2d(x, slide.window, y) : cpu.average_pool2d(x, slide.window, y);
      largest ? cpu.max_pool2d_gradient(x, slide.window, y, dx) : cpu.average_pool2d_gradient(y, slide.window, dx);
      verify(dot(y, y), dot(x, dx), y, y);  // both poolings are linear along their own gradient
      const double bytes = 4.0 * static_cast<double>(y.elements() + (forward || !largest ? 1 : 2) * x.elements());
      time(state, "GB/s", bytes, [&] {
        if (forward)
          largest ? cpu.max_pool2d(x, slide.window, y) : cpu.average_pool2d(x, slide.window, y);
        else
          largest ? cpu.max_pool2d_gradient(x, slide.window, y, dx) : cpu.average_pool2d_gradient(y, slide.window, dx);
      });
    });
  };
  add("forward", true);
  add("gradient", false);
}

void add_all() {
  for (const ConvLayer& layer : conv_layers) add_convolution(layer);
  for (const ConvLayer& layer : conv_layers) add_normalization(layer);
  for (const PoolLayer& layer : max_pool_layers) add_pooling(layer, true);
  add_pooling(average_pool_layer, false);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const lockstep::ComputeThreadsScope one_thread(1);
  lockstep::add_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
