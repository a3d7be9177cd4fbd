#pragma once

#include <cstdint>

#include <lockstep/models/training/model.h>

namespace lockstep {

/// A model with the same name, layers, options and connections and with new weights, drawn from `seed`, for the
/// strategy in whose scope clone_model is called. The clone is not compiled. Throws Unsupported naming a layer of a
/// class that is not registered (register_keras_serializable); LogicError in a replica.
Model clone_model(const Model& model, std::uint64_t seed = 0);

}  // namespace lockstep
