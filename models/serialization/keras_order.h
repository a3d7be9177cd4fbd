#pragma once

#include <cstddef>
#include <vector>

#include <lockstep/models/graph/plan.h>

namespace lockstep {

/// The order of Keras' `model.layers`, which its files count layers in, as indices of the `layers` layers that `calls`
/// connect: by their distance from the output, the farthest first, those of one distance in the order in which a
/// depth-first walk from the output meets them (`map_graph` in Keras' ops/function.py).
std::vector<int> keras_layer_order(const std::vector<GraphCall>& calls, std::size_t layers);

}  // namespace lockstep
