#pragma once

#include <nlohmann/json.hpp>

namespace lockstep {

/// The layers of a functional model's configuration in the form of Keras 3, and the operations that compute their
/// masks.
struct SeparatedMasks {
  /// The layers, and the operations that are not in `operations`. A call argument that is a mask computed by
  /// `operations` is in "masks" of the call's node instead of "kwargs".
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  /// The operations that only compute masks, by name.
  nlohmann::ordered_json operations = nlohmann::ordered_json::object();
};

/// Separates the masks in the `config` of a functional model in the form of Keras 3. A mask stays in "kwargs" if it is
/// a result of a layer, or if a recurrent layer is called with initial states.
SeparatedMasks separate_masks(const nlohmann::ordered_json& config);

}  // namespace lockstep
