#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Dropout's options.
struct DropoutOptions {
  ///@{
  /// Keras' arguments of these names, with Keras' defaults.
  double rate = -1;  ///< required
  std::string name{};
  ///@}
};

/// In training, sets elements to 0 with probability `rate` and scales the others by 1 / (1 - rate); at inference,
/// returns its input. The mask depends on the model's seed, the layer, the replica, and the number of times this
/// replica has called the layer in training. Runs are therefore repeatable, and each replica draws its own masks (Keras
/// 3 draws one mask for all replicas).
struct Dropout : Layer {
  /// Throws InvalidArgument unless 0 <= rate < 1.
  explicit Dropout(const DropoutOptions& options);
  /// The layer of a file's options.
  static Dropout from_config(LayerConfig& config);
};

}  // namespace lockstep
