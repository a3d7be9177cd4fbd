#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/layers/layer.h>

// Models as layers inside other layers. These functions are defined in models/serialization, because models consist of
// layers.

namespace lockstep {

class Network;
struct NestedModel;

/// A layer that computes `network` with the network's own weights. `model` describes the network. Throws
/// InvalidArgument for a network with several inputs or outputs or with a stateful layer.
std::shared_ptr<LayerImpl> inner_model(const Network& network, const NestedModel& model);

/// A new layer, not built, that computes the model whose JSON in a Keras file is `object`; null if the object's class
/// is not a model class. Throws the errors of model_from_config and of inner_model.
std::shared_ptr<LayerImpl> inner_model_from_config(const nlohmann::ordered_json& object);

///@{
/// The model that the layer computes, as Keras' JSON and as a NestedModel; null if the layer computes no model. For a
/// model read from a file, the NestedModel is null until the layer is built.
nlohmann::ordered_json inner_model_json(const LayerImpl& layer);
const NestedModel* inner_model_description(const LayerImpl& layer);
///@}

}  // namespace lockstep
