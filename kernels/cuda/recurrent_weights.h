#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/kernels/recurrence/whole_recurrence.h>

// Weights of recurrent layers as cuDNN keeps them: all in one piece of memory, the weight space. Nothing here needs a
// GPU or one of its libraries.

namespace lockstep::cudnn {

/// Where a weight space holds one of cuDNN's "linear layers", in elements from its beginning.
struct LinearLayer {
  std::int64_t matrix;  ///< (units, inputs), row by row
  std::int64_t bias;    ///< (units)
};
/// By cuDNN's number: the layers that multiply the input, one for each gate, and then those that multiply the state.
using LinearLayers = std::vector<LinearLayer>;

/// Which of Keras' gates, as they lie side by side in a kernel, cuDNN's linear layer `number` computes.
std::int64_t gate_of(const RecurrentLayer& layer, std::int64_t number);
/// Columns of linear layer `number`'s matrix: features or units.
std::int64_t inputs_of(const RecurrentLayer& layer, std::int64_t number);
/// Whether Keras has a bias for linear layer `number`; where not, pack makes cuDNN's 0.
bool has_bias(const RecurrentLayer& layer, std::int64_t number);
/// "lstm of x (32, 10, 8) with 64 units".
std::string text(const RecurrentLayer& layer);

/// Fills the weight space, dense f32, with Keras' weights.
void pack(const RecurrentLayer& layer, const LinearLayers& places, const RecurrentWeights& weights,
          const Tensor& space);
/// The way back; weights that are undefined are not wanted.
void unpack(const RecurrentLayer& layer, const LinearLayers& places, const Tensor& space,
            const RecurrentWeights& weights);

}  // namespace lockstep::cudnn
