#include "kernel_floor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <vector>

#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep::cli {
namespace {

constexpr int rounds = 5;

bool is_product(const LayerImpl& layer) {
  constexpr std::array<std::string_view, 4> classes{"Conv2D", "SeparableConv2D", "Dense", "LSTM"};
  return std::ranges::find(classes, layer.class_name()) != classes.end();
}

Tensor filled_batch(std::int64_t rows, const Shape& shape, DType dtype) {
  Shape batch{rows};
  for (const std::int64_t dim : shape) batch.push_back(dim);
  return Tensor::full(batch, 0.5, dtype);
}

/// Best time of a forward pass with the gradients of the weights and, unless the layer reads the network's input, of
/// the layer's input.
double best_ms(LayerImpl& layer, const Tensor& x, bool needs_input_gradient) {
  Tensor dy;
  std::vector<Tensor> sources;
  for (const Variable& variable : layer.variables()) sources.push_back(variable.value());
  if (needs_input_gradient) sources.push_back(x);
  const Tensor target = Tensor::zeros({});
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    synchronize(current_context().device);
    const auto start = std::chrono::steady_clock::now();
    GradientTape tape;
    if (needs_input_gradient) tape.watch(x);
    const Tensor y = layer.call(std::span(&x, 1), {.mode = Mode::train});
    if (!dy.defined()) dy = Tensor::full(y.shape(), 1, y.dtype());
    // With a gradient of y that is there already: filling one would take longer than a GPU's kernels.
    // Biases get gradients of 0, as before a batch normalization: their sums are not products.
    record("given", {y}, target, [&](BackwardContext& context) {
      context.set(0, dy, false);
      context.set_rows_sum_to_zero(0);
    });
    tape.gradient(target, sources);
    synchronize(current_context().device);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double floor_of_replica(const Network& network, std::int64_t rows) {
  double total = 0;
  for (const GraphCall& call : network.calls()) {
    LayerImpl& layer = network.layers()[static_cast<std::size_t>(call.layer)].impl();
    if (!is_product(layer)) continue;
    const int source = call.inputs.front();
    const Shape& shape = source < 0 ? network.inputs()[static_cast<std::size_t>(-1 - source)].shape
                                    : network.calls()[static_cast<std::size_t>(source)].shape;
    total += best_ms(layer, filled_batch(rows, shape, layer.call_dtype()), source >= 0);
  }
  return total;
}

}  // namespace

double kernel_floor_ms(const Network& network, std::int64_t rows) {
  const PerReplica<double> floors = network.strategy().run([&] { return floor_of_replica(network, rows); });
  return *std::max_element(floors.local_results().begin(), floors.local_results().end());
}

}  // namespace lockstep::cli
