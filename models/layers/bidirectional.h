#pragma once

#include <optional>
#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// How Bidirectional merges the results of both directions: concatenated along the last axis, or their sum, product or
/// mean. `none`, Keras' None, returns both.
enum class MergeMode { concat, sum, mul, ave, none };

/// Bidirectional's options.
struct BidirectionalOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  MergeMode merge_mode = MergeMode::concat;
  /// The layer that the backward layer copies. By default it copies the forward layer, with go_backwards = true.
  std::optional<Layer> backward_layer{};
  std::string name{};
  ///@}
};

/// Keras' Bidirectional: runs a recurrent layer over the time steps in both directions and merges the results, with
/// return_sequences in the order of the input's steps: (steps, features) -> (2 * units) with MergeMode::concat,
/// otherwise (units); with return_sequences (steps, 2 * units) or (steps, units), with the mask of the input.
///
/// The layers are copies of `layer` with the names "forward_NAME" and "backward_NAME". Weights, initial states and,
/// with return_state, further results are those of the forward layer, followed by those of the backward layer. With
/// MergeMode::none, the first two results are those of the forward and of the backward layer.
struct Bidirectional : Layer {
  /// Throws InvalidArgument unless both layers are LSTM, GRU or SimpleRNN, agree in return_sequences, return_state and
  /// stateful, and run in opposite directions. Calling the layer throws InvalidArgument unless both have the same
  /// number of units.
  explicit Bidirectional(const Layer& layer, const BidirectionalOptions& options = {});
  /// Makes the layer from the options in a file.
  static Bidirectional from_config(LayerConfig& config);
};

}  // namespace lockstep
