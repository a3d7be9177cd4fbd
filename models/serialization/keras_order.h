#pragma once

#include <cstddef>
#include <vector>

#include <lockstep/models/graph/network.h>

namespace lockstep {

/// The order of Keras' `model.layers`, which its files count layers in, as indices of the `layers` layers that `calls`
/// connect: by their distance from the outputs, the farthest first, those of one distance in the order in which
/// depth-first walks from the outputs, the results of the calls of these numbers, meet them (`map_graph` in Keras'
/// ops/function.py).
std::vector<int> keras_layer_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                   std::size_t layers);

/// The entries of Keras' `model.layers` that are no inputs, in its order: the network's layers, and the models that are
/// part of it, each once.
std::vector<ModelPart> keras_layers(const Network& network);

/// The network's layers in the order that they have as Keras' `model.layers` when the models that are part of it are
/// taken apart.
std::vector<ModelPart> flat_keras_layers(const Network& network);

}  // namespace lockstep
