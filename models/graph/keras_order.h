#pragma once

#include <cstddef>
#include <vector>

#include <lockstep/models/graph/network.h>

namespace lockstep {

/// Indices of the layers in the order of Keras' `model.layers`. Keras' files number the layers in this order. `calls`
/// are a network's calls, `outputs` its outputs (Network::outputs), `layers` the number of layers. Layers are sorted by
/// the distance of their farthest call from the outputs, in descending order. Layers of equal distance are in the order
/// in which depth-first walks from the outputs reach them (`map_graph` in Keras' ops/function.py).
std::vector<int> keras_layer_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                   std::size_t layers);

/// Indices of the calls in the order in which Keras runs them: by descending distance from the outputs. Calls that no
/// output depends on are left out.
std::vector<int> keras_call_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                  std::size_t layers);

/// Indices of Network::calls() in the order in which the network runs them: 0, 1, 2, ..., or Keras' order if a layer
/// with LayerImpl::has_statistics is called more than once. The calls of such a layer then update its statistics in the
/// same order as in Keras. Precondition: the network's layers are built.
std::vector<int> running_order(const Network& network);

/// Describes the network as a Keras model with this name. Its parts are the models that are part of the network, and
/// the layers outside these models.
NestedModel keras_model(const Network& network, const std::string& name, const std::string& class_name = "Functional");

/// Describes the network as a Keras model of layers only: each model that is part of the network is replaced by its
/// layers. Layers that no output depends on are left out.
NestedModel flat_keras_model(const Network& network, const std::string& name);

/// Describes the network in the form that whole-model files hold: like flat_keras_model if a layer or a model is part
/// of several models, otherwise like keras_model. (Keras would not find the weights of a part of several models in a
/// file in the form of keras_model.)
NestedModel saved_keras_model(const Network& network, const std::string& name);

/// The layers of a model and of all models in it, each once, in Keras' order.
std::vector<Layer> layers_of(const NestedModel& model);

}  // namespace lockstep
