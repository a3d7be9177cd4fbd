#include <lockstep/kernels/normalization/normalization_kernels.h>

#include "kernels_bench.h"

namespace lockstep {
namespace {

/// Batch normalization with ReLU of a convolution's result, as rows of channels.
struct BatchNorm {
  Tensor x, y, dy, gamma, beta, mean, variance, dgamma, dbeta;
  double touch;  ///< bytes of x

  BatchNorm(std::int64_t size, std::int64_t channels)
      : x(uniform({batch, size, size, channels}, 1)),
        y(Tensor::empty(x.shape())),
        dy(uniform(x.shape(), 2)),
        gamma(Tensor::full({channels}, 1)),
        beta(Tensor::zeros({channels})),
        mean(Tensor::empty({channels})),
        variance(Tensor::empty({channels})),
        dgamma(Tensor::empty({channels})),
        dbeta(Tensor::empty({channels})),
        touch(bytes_of({x})) {
    moments();
    kernels::run_on_cpu(kernels::BatchNorm{x, gamma, beta, mean, variance, 0, false, y});
    kernels::run_on_cpu(kernels::ChannelMoments{y, dgamma, dbeta});
    for (std::int64_t k = 0; k < channels; ++k)
      require<BrokenInvariant>(std::abs(dgamma.data<float>()[k]) < 1e-4 && std::abs(dbeta.data<float>()[k] - 1) < 1e-4,
                               "normalized channel {} has mean {} and variance {}", k, dgamma.data<float>()[k],
                               dbeta.data<float>()[k]);
  }

  void moments() const { kernels::run_on_cpu(kernels::ChannelMoments{x, mean, variance}); }
  void apply() const { kernels::run_on_cpu(kernels::BatchNorm{x, gamma, beta, mean, variance, 1e-3F, true, y}); }
  void gradient() const {
    kernels::run_on_cpu(kernels::BatchNormGradientSums{x, gamma, beta, mean, variance, 1e-3F, true, dy, dgamma, dbeta});
    kernels::run_on_cpu(kernels::BatchNormGradientX{x, gamma, beta, mean, variance, 1e-3F, true, dy, dgamma, dbeta,
                                                    x.elements() / x.dim(-1), y});
  }
};

void add_batch_norm(const ConvLayer& layer) {
  const auto add = [&](const char* what, double touches, void (BatchNorm::*run)() const) {
    benchmark::RegisterBenchmark(("batch_norm/" + std::string(what) + "/" + layer.name).c_str(),
                                 [layer, touches, run](benchmark::State& state) {
                                   const BatchNorm n(result_size(layer), layer.outputs);
                                   time_bytes(state, touches * n.touch, [&] { (n.*run)(); });
                                 });
  };
  add("moments", 1, &BatchNorm::moments);
  add("apply", 2, &BatchNorm::apply);
  add("gradient", 5, &BatchNorm::gradient);
}

/// Layer normalization at the size of a Transformer's block: 8 sequences of 512 tokens, 768 features.
struct LayerNorm {
  static constexpr std::int64_t rows = 4096;
  static constexpr std::int64_t features = 768;
  static constexpr float epsilon = 1e-3F;
  Tensor x = uniform({rows, features}, 1), dy = uniform({rows, features}, 2);
  Tensor gamma = uniform({features}, 3), beta = uniform({features}, 4);
  Tensor y = Tensor::empty(x.shape()), dx = Tensor::empty(x.shape());
  Tensor mean = Tensor::empty({rows}), inverse = Tensor::empty({rows});
  Tensor dgamma = Tensor::empty({features}), dbeta = Tensor::empty({features});

  LayerNorm() {
    forward();
    gradient();
    verify(inner_product(dy, y), inner_product(dgamma, gamma) + inner_product(dbeta, beta), dy, y);
    verify_last_row();
  }

  void forward() const { kernels::run_on_cpu(kernels::LayerNorm{x, gamma, beta, epsilon, y, mean, inverse}); }
  void gradient() const {
    kernels::run_on_cpu(kernels::LayerNormGradient{x, gamma, mean, inverse, dy, dx, dgamma, dbeta});
  }

 private:
  void verify_last_row() const {
    const std::int64_t first = (rows - 1) * features;
    const auto in = [&](const Tensor& t, std::int64_t i) { return static_cast<double>(t.data<float>()[i]); };
    double average = 0;
    double variance = 0;
    for (std::int64_t i = 0; i < features; ++i) average += in(x, first + i) / features;
    for (std::int64_t i = 0; i < features; ++i) variance += std::pow(in(x, first + i) - average, 2) / features;
    const double scale = 1 / std::sqrt(variance + static_cast<double>(epsilon));
    const auto normal = [&](std::int64_t i) { return (in(x, first + i) - average) * scale; };
    const auto incoming = [&](std::int64_t i) { return in(dy, first + i) * in(gamma, i); };
    double along = 0;
    double around = 0;
    for (std::int64_t i = 0; i < features; ++i) {
      along += incoming(i) / features;
      around += incoming(i) * normal(i) / features;
    }
    for (std::int64_t i = 0; i < features; ++i) {
      verify_element("layer_norm", in(y, first + i), in(gamma, i) * normal(i) + in(beta, i));
      verify_element("layer_norm_gradient", in(dx, first + i), scale * (incoming(i) - along - normal(i) * around));
    }
  }
};

void add_layer_norm() {
  benchmark::RegisterBenchmark("layer_norm/forward/4096x768", [](benchmark::State& state) {
    const LayerNorm n;
    time_bytes(state, bytes_of({n.x, n.y}), [&] { n.forward(); });
  });
  benchmark::RegisterBenchmark("layer_norm/gradient/4096x768", [](benchmark::State& state) {
    const LayerNorm n;
    time_bytes(state, bytes_of({n.x, n.dy, n.dx}), [&] { n.gradient(); });
  });
}

}  // namespace

void add_normalizations() {
  for (const ConvLayer& layer : conv_layers()) add_batch_norm(layer);
  add_layer_norm();
}

}  // namespace lockstep
