#include "lockstep/kernels/cuda/recurrent_weights.h"

#include <array>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep::cudnn {
namespace {

/// Whether linear layer `number` multiplies the state rather than the input.
bool of_state(const RecurrentLayer& layer, std::int64_t number) { return number >= layer.gates(); }

Tensor gate_columns(const RecurrentLayer& layer, std::int64_t number, const Tensor& matrix) {
  const std::int64_t gate = gate_of(layer, number);
  return matrix.slice_view(1, gate * layer.units, (gate + 1) * layer.units);
}

/// The bias (1, units) of linear layer `number`. `biases`: an LSTM's (4 units) or a GRU's (2, 3 units), whose rows are
/// for the input and for the state.
Tensor bias_of(const RecurrentLayer& layer, std::int64_t number, const Tensor& biases) {
  const Tensor rows = biases.view({-1, layer.gates() * layer.units});
  const std::int64_t row = of_state(layer, number) ? 1 : 0;
  return gate_columns(layer, number, rows.slice_view(0, row, row + 1));
}

Tensor part(const Tensor& space, std::int64_t begin, const Shape& shape) {
  return space.slice_view(0, begin, begin + shape.elements()).view(shape);
}

/// Calls visit(part of Keras' weights, the corresponding part of the weight space) for each gate's matrices and biases.
/// Both parts have the same shape. Undefined weights are skipped.
template <class Visit>
void for_each_part(const RecurrentLayer& layer, const LinearLayers& places, const RecurrentWeights& weights,
                   const Tensor& space, const Visit& visit) {
  for (std::int64_t number = 0; number < 2 * layer.gates(); ++number) {
    const LinearLayer& place = places.at(static_cast<std::size_t>(number));
    const Tensor& matrices = of_state(layer, number) ? weights.recurrent_kernel : weights.kernel;
    if (matrices.defined())
      visit(gate_columns(layer, number, matrices),
            part(space, place.matrix, {layer.units, inputs_of(layer, number)}).transposed_view());
    if (weights.bias.defined() && has_bias(layer, number))
      visit(bias_of(layer, number, weights.bias), part(space, place.bias, {1, layer.units}));
  }
}

}  // namespace

std::int64_t gate_of(const RecurrentLayer& layer, std::int64_t number) {
  // Keras and cuDNN both order an LSTM's gates i, f, c, o. Keras orders a GRU's gates z, r, h, and cuDNN r, z, h.
  constexpr std::array<std::int64_t, 3> gru_gates{1, 0, 2};
  const std::int64_t gate = number % layer.gates();
  return layer.cell == RecurrentCell::lstm ? gate : gru_gates.at(static_cast<std::size_t>(gate));
}

std::int64_t inputs_of(const RecurrentLayer& layer, std::int64_t number) {
  return of_state(layer, number) ? layer.units : layer.features;
}

bool has_bias(const RecurrentLayer& layer, std::int64_t number) {
  return layer.cell == RecurrentCell::gru || !of_state(layer, number);
}

std::string text(const RecurrentLayer& layer) {
  return fmt::format("{} of x {} with {} units", layer.cell == RecurrentCell::lstm ? "lstm" : "gru",
                     Shape{layer.n, layer.time, layer.features}, layer.units);
}

void pack(const RecurrentLayer& layer, const LinearLayers& places, const RecurrentWeights& weights,
          const Tensor& space) {
  if (layer.cell == RecurrentCell::lstm) launch(kernels::Fill{space, 0});
  for_each_part(layer, places, weights, space, [](const Tensor& keras, const Tensor& cudnn) {
    launch(kernels::Convert{keras, cudnn});
  });
}

void unpack(const RecurrentLayer& layer, const LinearLayers& places, const Tensor& space,
            const RecurrentWeights& weights) {
  for_each_part(layer, places, weights, space, [](const Tensor& keras, const Tensor& cudnn) {
    launch(kernels::Convert{cudnn, keras});
  });
}

}  // namespace lockstep::cudnn
