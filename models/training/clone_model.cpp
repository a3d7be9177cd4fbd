#include "lockstep/models/training/clone_model.h"

#include <nlohmann/json.hpp>

#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/serialization/symbolic_model.h>

namespace lockstep {

Model clone_model(const Model& model, std::uint64_t seed) {
  const SymbolicModel clone = model_from_config(network_config(keras_model(model.network(), model.name())));
  return {clone.inputs, clone.outputs, {.name = model.name(), .seed = seed}};
}

}  // namespace lockstep
