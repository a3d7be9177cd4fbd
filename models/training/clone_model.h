#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

namespace lockstep {

/// Makes a model with the same name, layers, options and connections, for the strategy in whose scope clone_model is
/// called. Its weights are new and drawn from `seed`. The clone is not compiled. Throws Unsupported, naming the layer,
/// for a layer of a class that is not registered (register_keras_serializable). Throws LogicError in a replica.
Model clone_model(const Model& model, std::uint64_t seed = 0);

}  // namespace lockstep
