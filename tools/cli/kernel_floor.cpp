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
  constexpr std::array<std::string_view, 7> classes{"Conv2D", "Conv2DTranspose",    "Dense",          "DepthwiseConv2D",
                                                    "LSTM",   "MultiHeadAttention", "SeparableConv2D"};
  return std::ranges::find(classes, layer.class_name()) != classes.end();
}

Tensor filled_batch(const FloorSizes& sizes, const Shape& shape, DType dtype) {
  Shape batch{sizes.rows};
  for (const std::int64_t dim : shape) batch.push_back(dim == -1 ? sizes.unknown : dim);
  return Tensor::full(batch, is_real(dtype) ? 0.5 : 0, dtype);
}

/// For each call, whether its result depends on trained weights.
std::vector<bool> trained_calls(const Network& network) {
  std::vector<bool> trained;
  for (const GraphCall& call : network.calls()) {
    const auto variables = network.layers()[static_cast<std::size_t>(call.layer)].impl().variables();
    trained.push_back(std::ranges::any_of(variables, [](const Variable& each) { return each.trainable(); }) ||
                      std::ranges::any_of(call.inputs, [&](int input) {
                        return input >= 0 && trained[static_cast<std::size_t>(input)];
                      }));
  }
  return trained;
}

/// Best time of a forward pass in which all inputs are x, with the gradients of the weights and, if needed, of x.
double best_ms(LayerImpl& layer, const GraphCall& call, const Tensor& x, bool needs_input_gradient) {
  const std::vector<Tensor> inputs(call.inputs.size(), x);
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
    const Tensor y = layer.call(inputs, {.mode = Mode::train, .use_causal_mask = call.use_causal_mask});
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

double floor_of_replica(const Network& network, const FloorSizes& sizes) {
  const std::vector<bool> trained = trained_calls(network);
  double total = 0;
  for (const GraphCall& call : network.calls()) {
    LayerImpl& layer = network.layers()[static_cast<std::size_t>(call.layer)].impl();
    if (!is_product(layer)) continue;
    const int source = call.inputs.front();
    const Shape& shape = source < 0 ? network.inputs()[static_cast<std::size_t>(-1 - source)].shape
                                    : network.calls()[static_cast<std::size_t>(source)].shape;
    const bool needs_input_gradient = source >= 0 && trained[static_cast<std::size_t>(source)];
    total += best_ms(layer, call, filled_batch(sizes, shape, layer.call_dtype()), needs_input_gradient);
  }
  return total;
}

}  // namespace

double kernel_floor_ms(const Network& network, const FloorSizes& sizes) {
  const PerReplica<double> floors = network.strategy().run([&] { return floor_of_replica(network, sizes); });
  return *std::max_element(floors.local_results().begin(), floors.local_results().end());
}

}  // namespace lockstep::cli
