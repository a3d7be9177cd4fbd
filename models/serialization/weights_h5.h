#pragma once

#include <string>

#include <lockstep/models/graph/network.h>

namespace lockstep {

/// Writes all weights in the layout of Keras 3's `.weights.h5`, which Keras' `load_weights` reads: f32, with kernels,
/// moving statistics and so on in Keras' axes and order. Whole or not at all: on failure an old file is as it was.
/// Throws InputError naming path and reason, LogicError in a replica.
void save_weights(const Network& network, const std::string& path);

/// Sets all copies of all weights from such a file, written here or by Keras' `save_weights`; the state of Keras'
/// optimizer and random generators is passed over. Throws InputError naming path, layer and what does not fit when the
/// file is not readable or is another model's, which then keeps its weights; LogicError in a replica.
void load_weights(const Network& network, const std::string& path);

}  // namespace lockstep
