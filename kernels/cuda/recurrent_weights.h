#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/kernels/recurrence/whole_recurrence.h>

// Converts weights of recurrent layers from and to cuDNN's weight space, a single block of memory. Does not need a GPU
// or NVIDIA's libraries.

namespace lockstep::cudnn {

/// Offsets of one of cuDNN's "linear layers" in a weight space, in elements.
struct LinearLayer {
  std::int64_t matrix;  ///< (units, inputs), row-major
  std::int64_t bias;    ///< (units)
};
/// All linear layers in cuDNN's order: first those that multiply the input, one per gate, then those that multiply the
/// state.
using LinearLayers = std::vector<LinearLayer>;

/// The gate to which cuDNN's linear layer `number` contributes, as its index among the gates of Keras' kernels.
std::int64_t gate_of(const RecurrentLayer& layer, std::int64_t number);
/// Number of columns of linear layer `number`'s matrix: features or units.
std::int64_t inputs_of(const RecurrentLayer& layer, std::int64_t number);
/// Whether Keras has a bias for linear layer `number`; if not, pack sets cuDNN's bias to 0.
bool has_bias(const RecurrentLayer& layer, std::int64_t number);
/// A description for messages: "lstm of x (32, 10, 8) with 64 units".
std::string text(const RecurrentLayer& layer);

/// Copies Keras' weights into the weight space `space`, a dense f32 tensor; skips undefined weights.
void pack(const RecurrentLayer& layer, const LinearLayers& places, const RecurrentWeights& weights,
          const Tensor& space);
/// Copies the weight space `space` into Keras' weights; skips undefined weights.
void unpack(const RecurrentLayer& layer, const LinearLayers& places, const Tensor& space,
            const RecurrentWeights& weights);

}  // namespace lockstep::cudnn
