#include <algorithm>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/random/random_kernels.h>

#include "kernels_bench.h"

namespace lockstep {
namespace {

/// The activations of MiniGoogLeNet's first stage.
const Shape activations{batch, 32, 32, 80};

void add(benchmark::State& state) {
  const Tensor a = uniform(activations, 1);
  const Tensor b = uniform(activations, 2);
  const Tensor out = Tensor::empty(activations);
  const auto run = [&] { kernels::run_on_cpu(kernels::Binary{BinaryOp::add, a, b, out}); };
  run();
  for (std::int64_t i = 0; i < out.elements(); ++i)
    verify_element("add", out.data<float>()[i], a.data<float>()[i] + b.data<float>()[i]);
  time_bytes(state, bytes_of({a, b, out}), run);
}

void dropout(benchmark::State& state) {
  const float rate = 0.5F;
  const Tensor x = uniform(activations, 1);
  const Tensor y = Tensor::empty(activations);
  const auto run = [&] { kernels::run_on_cpu(kernels::Dropout{x, rate, {.seed = 7}, y}); };
  run();
  std::int64_t dropped = 0;
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const float found = y.data<float>()[i];
    if (found == 0)
      ++dropped;
    else
      verify_element("dropout", found, x.data<float>()[i] / (1 - rate));
  }
  const double share = static_cast<double>(dropped) / static_cast<double>(y.elements());
  require<BrokenInvariant>(std::abs(share - static_cast<double>(rate)) < 0.01, "dropout drops {} of all", share);
  time_bytes(state, bytes_of({x, y}), run);
}

/// Module 1b of MiniGoogLeNet: concatenates 32 and 48 channels.
void concatenate(benchmark::State& state) {
  const Tensor left = uniform({batch, 32, 32, 32}, 1);
  const Tensor right = uniform({batch, 32, 32, 48}, 2);
  const Tensor whole = Tensor::empty(activations);
  const Tensor left_place = whole.slice_view(3, 0, 32);
  const Tensor right_place = whole.slice_view(3, 32, 80);
  const auto run = [&] {
    kernels::run_on_cpu(kernels::Convert{left, left_place});
    kernels::run_on_cpu(kernels::Convert{right, right_place});
  };
  run();
  for (std::int64_t i = 0; i < whole.elements(); ++i) {
    const std::int64_t channel = i % 80;
    const float expected =
        channel < 32 ? left.data<float>()[i / 80 * 32 + channel] : right.data<float>()[i / 80 * 48 + channel - 32];
    verify_element("concatenate", whole.data<float>()[i], expected);
  }
  time_bytes(state, bytes_of({left, right, whole}), run);
}

}  // namespace

void add_elementwise() {
  benchmark::RegisterBenchmark("add/64x32x32x80", add);
  benchmark::RegisterBenchmark("dropout/64x32x32x80", dropout);
  benchmark::RegisterBenchmark("concatenate/64x32x32x80", concatenate);
}

}  // namespace lockstep
