#pragma once

#include <nlohmann/json.hpp>

namespace lockstep {

/// The layers of a functional model's configuration in the form of Keras 3, and the operations that compute their
/// masks.
struct SeparatedMasks {
  /// The layers and operations, apart from `operations`. The arguments of calls that are masks made by `operations` are
  /// in "masks" of the call's node instead of "kwargs".
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  /// The operations that only compute masks, by name.
  nlohmann::ordered_json operations = nlohmann::ordered_json::object();
};

/// Separates the masks in the `config` of a functional model in the form of Keras 3. Masks stay arguments in "kwargs"
/// where they are results of layers, or where a recurrent layer has initial states.
SeparatedMasks separate_masks(const nlohmann::ordered_json& config);

}  // namespace lockstep
