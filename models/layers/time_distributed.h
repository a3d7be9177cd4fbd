#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Keras' TimeDistributed: (time, ...) -> (time, the layer's result); the layer on every time step, with the same
/// weights. All steps are computed in one call of the layer, as one batch, except in training for a layer with moving
/// statistics such as BatchNormalization, which normalizes each step by that step's statistics.
struct TimeDistributed : Layer {
  /// `name`: of the new layer. `layer` is called nowhere else. As a single argument another TimeDistributed is copied:
  /// write TimeDistributed(Layer(inner)) for one around it.
  explicit TimeDistributed(const Layer& layer, std::string name = {});
  /// The layer of a file's options.
  static TimeDistributed from_config(LayerConfig& config);
};

}  // namespace lockstep
