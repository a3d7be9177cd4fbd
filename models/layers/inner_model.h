#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/layers/layer.h>

// Models as layers inside other layers. These functions are defined in models/serialization, because models consist of
// layers.

namespace lockstep {

class Network;
struct NestedModel;

/// A layer that computes the model, with its weights. `model` describes the network. Throws InvalidArgument for several
/// inputs or outputs, and for stateful layers.
std::shared_ptr<LayerImpl> inner_model(const Network& network, const NestedModel& model);

/// A layer that computes the model of an object in a file, with weights of its own; null if the object's class is not
/// that of a model. Throws the errors of model_from_config and of inner_model.
std::shared_ptr<LayerImpl> inner_model_from_config(const nlohmann::ordered_json& object);

///@{
/// The model that the layer computes, as Keras' object and as a description; null for a layer that does not compute
/// one. A model from a file has a description when it is built.
nlohmann::ordered_json inner_model_json(const LayerImpl& layer);
const NestedModel* inner_model_description(const LayerImpl& layer);
///@}

}  // namespace lockstep
