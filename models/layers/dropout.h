#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Dropout's options.
struct DropoutOptions {
  ///@{
  /// Keras' arguments of these names, with its defaults where it has any.
  double rate = -1;  ///< required
  std::string name{};
  ///@}
};

/// In training sets elements to 0 with probability `rate` and scales the others by 1 / (1 - rate); nothing at
/// inference. The mask depends on the model's seed, the layer, the replica, and how often this replica has called the
/// layer in training: runs repeat, and every replica draws masks of its own (Keras 3 draws the same mask on all
/// replicas).
struct Dropout : Layer {
  /// Throws InvalidArgument unless 0 <= rate < 1.
  explicit Dropout(const DropoutOptions& options);
  /// From a file's options.
  static Dropout from_config(LayerConfig& config);
};

}  // namespace lockstep
