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
  /// The backward layer is a copy of this layer, under the same name. If nullopt, it is a copy of the wrapped layer
  /// with go_backwards = true and the name "backward_NAME".
  std::optional<Layer> backward_layer{};
  std::string name{};
  ///@}
};

/// Keras' Bidirectional: runs a recurrent layer over the time steps in both directions and merges the results. Takes
/// (steps, features). Returns (units) or, with return_sequences, (steps, units) with the input's mask;
/// MergeMode::concat doubles the last axis. The backward layer's sequence is reversed before it is merged. (If the
/// forward layer has go_backwards = true, the steps of the result are in reverse order, but the mask is not.)
///
/// The forward layer is a copy of `layer` with the name "forward_NAME". The weights and the initial states are the
/// forward layer's, followed by the backward layer's. The first result is the merged result; with MergeMode::none, the
/// first two results are the forward layer's and the backward layer's. With return_state, the final states follow as
/// further results, in the order of the initial states.
struct Bidirectional : Layer {
  /// Throws InvalidArgument unless both layers are LSTM, GRU or SimpleRNN, agree in return_sequences, return_state and
  /// stateful, and run in opposite directions. Calling the layer throws InvalidArgument unless both have the same
  /// number of units.
  explicit Bidirectional(const Layer& layer, const BidirectionalOptions& options = {});
  /// Makes the layer from the options in a file.
  static Bidirectional from_config(LayerConfig& config);
};

}  // namespace lockstep
