#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Keras' TimeDistributed: applies the layer to every time step, with the same weights: (time, ...) -> (time, the
/// layer's result). All steps are computed in one call of the layer, as one batch. In training, however, a layer with
/// LayerImpl::has_statistics, such as BatchNormalization, is called for each step separately, so that each step is
/// normalized by its own statistics; masked sequences then throw Unsupported.
struct TimeDistributed : Layer {
  /// `name` is the name of the new layer. Do not call `layer` elsewhere: its weights belong to the new layer. Write
  /// TimeDistributed(Layer(inner)) to wrap another TimeDistributed: TimeDistributed(inner) is a copy.
  explicit TimeDistributed(const Layer& layer, std::string name = {});
  /// Makes the layer from the options in a file.
  static TimeDistributed from_config(LayerConfig& config);
};

}  // namespace lockstep
