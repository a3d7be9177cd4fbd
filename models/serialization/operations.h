#pragma once

#include <nlohmann/json_fwd.hpp>

// How Keras 3 writes results of layers, and its operations, such as x + 3, into a functional model's configuration.

namespace lockstep {

/// Whether a value in the arguments of a call is the result of a layer.
bool is_tensor(const nlohmann::ordered_json& value);

/// Whether a layer's object describes an operation: it then lacks the options that all layers have.
bool is_operation(const nlohmann::ordered_json& layer);

}  // namespace lockstep
