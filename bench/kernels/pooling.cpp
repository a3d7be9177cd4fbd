#include <lockstep/kernels/pooling/pooling_kernels.h>

#include "kernels_bench.h"

namespace lockstep {
namespace {

struct PoolLayer {
  const char* name;
  std::int64_t size, channels, window, stride;
};

const PoolLayer max_pool_layers[] = {{"1_down", 32, 80, 3, 2}, {"2_down", 15, 144, 3, 2}};
const PoolLayer average_pool_layer{"global", 7, 336, 7, 1};

void add_pooling(const PoolLayer& layer, bool largest) {
  const std::string name = std::string(largest ? "max_pool2d/" : "average_pool2d/");
  const auto add = [&](const char* what, bool forward) {
    benchmark::RegisterBenchmark((name + what + "/" + layer.name).c_str(), [=](benchmark::State& state) {
      const Tensor x = uniform({batch, layer.size, layer.size, layer.channels}, 1);
      const auto slide =
          slide_window("bench", x.shape(), {layer.window, layer.window}, {layer.stride, layer.stride}, Padding::valid);
      const Tensor y = Tensor::empty({batch, slide.output.height, slide.output.width, layer.channels});
      const Tensor dx = Tensor::empty(x.shape());
      const Tensor places = Tensor::empty(y.shape(), DType::u8);
      const auto pool = [&] {
        largest ? kernels::run_on_cpu(kernels::MaxPool2d{x, slide.window, y, places})
                : kernels::run_on_cpu(kernels::AveragePool2d{x, slide.window, y});
      };
      const auto gradient = [&] {
        largest ? kernels::run_on_cpu(kernels::MaxPool2dGradient{places, slide.window, y, dx})
                : kernels::run_on_cpu(kernels::AveragePool2dGradient{y, slide.window, dx});
      };
      pool();
      gradient();
      verify(inner_product(y, y), inner_product(x, dx), y,
             y);  // pooling is linear in x (maximum pooling: for a fixed choice of the maxima), and dx is its gradient
      const double bytes = static_cast<double>((largest ? 5 : 4) * y.elements() + 4 * x.elements());
      time_bytes(state, bytes, [&] { forward ? pool() : gradient(); });
    });
  };
  add("forward", true);
  add("gradient", false);
}

}  // namespace

void add_poolings() {
  for (const PoolLayer& layer : max_pool_layers) add_pooling(layer, true);
  add_pooling(average_pool_layer, false);
}

}  // namespace lockstep
