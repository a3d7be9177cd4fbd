#pragma once

#include <cstddef>
#include <vector>

#include <lockstep/models/graph/network.h>

namespace lockstep {

/// Indices of the layers in the order of Keras' `model.layers`; Keras' files number layers in this order. `calls` are a
/// network's calls, `outputs` the indices of the calls whose results are its outputs, `layers` the number of layers.
/// Layers are sorted by the distance of their farthest call from the outputs, the farthest first; layers of equal
/// distance are in the order in which depth-first walks from the outputs reach them (`map_graph` in Keras'
/// ops/function.py).
std::vector<int> keras_layer_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                   std::size_t layers);

/// Indices of the calls in the order in which Keras runs them: by their distance from the outputs, the farthest first.
/// Calls that no output depends on are left out.
std::vector<int> keras_call_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                  std::size_t layers);

/// Indices of Network::calls() in the order in which the network runs them: 0, 1, 2, ..., or Keras' order if a layer
/// with LayerImpl::has_statistics is called more than once, since each call in training may update the statistics.
/// Precondition: the network's layers are built.
std::vector<int> running_order(const Network& network);

/// Describes the network as a Keras model with this name. Its parts are the models that are part of the network, and
/// the layers outside these models.
NestedModel keras_model(const Network& network, const std::string& name, const std::string& class_name = "Functional");

/// Describes the network as a Keras model of layers only: models that are part of it are replaced by their layers.
/// Layers that no output depends on are left out.
NestedModel flat_keras_model(const Network& network, const std::string& name);

/// Describes the network in the form that files of whole models hold: as keras_model, or as flat_keras_model if a layer
/// or a model is part of several models, since Keras could not find the weights of the shared part in the file.
NestedModel saved_keras_model(const Network& network, const std::string& name);

/// The layers of a model and of all models in it, each once, in Keras' order.
std::vector<Layer> layers_of(const NestedModel& model);

}  // namespace lockstep
