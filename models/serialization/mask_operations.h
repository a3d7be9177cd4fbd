#pragma once

#include <nlohmann/json.hpp>

namespace lockstep {

/// The layers of a functional model's configuration in the form of Keras 3, and the operations that compute their
/// masks.
struct SeparatedMasks {
  /// The layers, and the operations that compute more than masks. Masks that `operations` compute are in "masks" of a
  /// call's node instead of "kwargs".
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  /// The operations that compute masks, by name.
  nlohmann::ordered_json operations = nlohmann::ordered_json::object();
};

/// Separates the operations that only compute masks from the layers in the `config` of a functional model in the form
/// of Keras 3. A mask stays in "kwargs" if a layer computes it, if it is that of Softmax, which need not be the mask
/// that its input carries, or if a recurrent layer is called with initial states. Throws nlohmann::json's exceptions
/// for malformed values.
SeparatedMasks separate_masks(const nlohmann::ordered_json& config);

}  // namespace lockstep
