#pragma once

#include <nlohmann/json_fwd.hpp>

namespace lockstep {

/// The layers of a functional model's `config` in the form of Keras 3, without the operations that compute masks from
/// the inputs of Embedding and Masking, and without their results as arguments of calls: a network computes the same
/// masks itself. Throws InputError for masks that are computed in another way.
nlohmann::ordered_json without_masks(const nlohmann::ordered_json& config);

}  // namespace lockstep
