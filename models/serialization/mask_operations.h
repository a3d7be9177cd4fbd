#pragma once

#include <nlohmann/json.hpp>

namespace lockstep {

/// The layers of a functional model's configuration in the form of Keras 3, and the operations that compute their
/// masks.
struct SeparatedMasks {
  /// The layers, and the operations that compute more than masks. Masks that calls of layers are given are in "masks"
  /// of a call's node instead of "kwargs".
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  /// The operations that compute masks, by name.
  nlohmann::ordered_json operations = nlohmann::ordered_json::object();
};

/// Separates the operations that only compute masks from the layers in the `config` of a functional model in the form
/// of Keras 3. A mask of Softmax, which is an input of its own, stays in "kwargs". Throws InputError for masks among
/// the arguments in order, and nlohmann::json's exceptions for malformed values.
SeparatedMasks separate_masks(const nlohmann::ordered_json& config);

}  // namespace lockstep
