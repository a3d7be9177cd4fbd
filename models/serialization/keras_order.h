#pragma once

#include <cstddef>
#include <vector>

#include <lockstep/models/graph/plan.h>

namespace lockstep {

/// The order of Keras' `model.layers`, which its files count layers in, as indices of the `layers` layers that `calls`
/// connect: by their distance from the outputs, the farthest first, those of one distance in the order in which
/// depth-first walks from the outputs, the results of the calls of these numbers, meet them (`map_graph` in Keras'
/// ops/function.py).
std::vector<int> keras_layer_order(const std::vector<GraphCall>& calls, const std::vector<int>& outputs,
                                   std::size_t layers);

}  // namespace lockstep
