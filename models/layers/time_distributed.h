#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

class Model;

/// Keras' TimeDistributed: applies the layer to every time step with the same weights, (time, ...) -> (time, axes of
/// the layer's result). All steps are computed in one call of the layer, as one batch. In training, however, a
/// trainable layer with LayerImpl::has_statistics, such as BatchNormalization, is called once per time step, so that
/// each step is normalized by its own statistics. If the input has a mask (n, time, ...), the layer gets the mask (n,
/// ...) of each step. As in Keras, the layer's activity_regularizer has no effect. A call throws InvalidArgument for a
/// layer with several results.
struct TimeDistributed : Layer {
  /// `name` is the name of the new layer. Do not call `layer` elsewhere, because its weights belong to the new layer.
  /// To wrap another TimeDistributed, write TimeDistributed(Layer(inner)); TimeDistributed(inner) is a copy of the
  /// handle.
  explicit TimeDistributed(const Layer& layer, std::string name = {});
  /// Applies the model. Its layers and weights then belong to the new layer: do not use them in another model. Throws
  /// InvalidArgument for a model with several inputs or outputs or with stateful layers.
  explicit TimeDistributed(const Model& model, std::string name = {});
  /// Makes the layer from the options in a file.
  static TimeDistributed from_config(LayerConfig& config);
};

}  // namespace lockstep
