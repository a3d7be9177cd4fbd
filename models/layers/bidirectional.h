#pragma once

#include <optional>
#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// How Bidirectional merges the results of both directions: joined along the last axis, or their sum, product or mean.
enum class MergeMode { concat, sum, mul, ave };

/// Bidirectional's options.
struct BidirectionalOptions {
  ///@{
  /// Keras' arguments of these names, with Keras' defaults.
  MergeMode merge_mode = MergeMode::concat;
  /// Its options are copied; by default those of the layer with the other go_backwards.
  std::optional<Layer> backward_layer{};
  std::string name{};
  ///@}
};

/// Keras' Bidirectional: a recurrent layer over the time steps in both directions, with the results of each step
/// merged. Its weights are those of the forward layer, a copy of `layer` with the name "forward_NAME", and then those
/// of the backward layer. Initial states and, with the layer's return_state, further results are those of the forward
/// layer and then those of the backward layer.
struct Bidirectional : Layer {
  /// Throws InvalidArgument unless the layers are LSTM, GRU or SimpleRNN, agree in return_sequences and
  /// return_state, and run in opposite directions.
  explicit Bidirectional(const Layer& layer, const BidirectionalOptions& options = {});
  /// The layer of a file's options.
  static Bidirectional from_config(LayerConfig& config);
};

}  // namespace lockstep
