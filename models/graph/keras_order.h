#pragma once

#include <cstddef>
#include <vector>

#include <lockstep/models/graph/network.h>

namespace lockstep {

/// The order of Keras' `model.layers`, which its files count layers in, as indices of the `layers` layers that `calls`
/// connect: by their distance from the outputs, the farthest first, those of one distance in the order in which
/// depth-first walks from the outputs, the results of the calls of these numbers, reach them (`map_graph` in Keras'
/// ops/function.py).
std::vector<int> keras_layer_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                   std::size_t layers);

/// The order in which Keras runs these calls: by their distance from the outputs, the farthest first.
std::vector<int> keras_call_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                  std::size_t layers);

/// The order in which a network, whose layers are built, runs its calls: that of `calls`; Keras' where a layer with
/// statistics, such as a batch normalization, is called more than once, since each of its calls moves them.
std::vector<int> running_order(const Network& network);

/// The network as Keras has it, as a model of this name: its layers and the models that are part of it.
NestedModel keras_model(const Network& network, const std::string& name, const std::string& class_name = "Functional");

/// The same with the models that are part of it taken apart: of layers alone, those left out that no output depends on.
NestedModel flat_keras_model(const Network& network, const std::string& name);

/// The one of the two that files of whole models hold: models are taken apart where a layer belongs to several of them,
/// whose weights Keras does not find again.
NestedModel saved_keras_model(const Network& network, const std::string& name);

/// The layers of a model and of the models in it, each once, in Keras' order.
std::vector<Layer> layers_of(const NestedModel& model);

}  // namespace lockstep
