#pragma once

#include <nlohmann/json_fwd.hpp>

// The form in which Keras 3 writes results of layers, and operations such as x + 3, into a functional model's
// configuration.

namespace lockstep {

/// Whether a value in the arguments of a call is the result of a layer.
bool is_tensor(const nlohmann::ordered_json& value);

/// Whether a layer's object describes an operation of Keras. Such an object lacks the options that all layers have.
/// False for classes that are registered (register_keras_serializable) and for lockstep's own layers. Precondition: the
/// object has "class_name" and "config".
bool is_operation(const nlohmann::ordered_json& layer);

}  // namespace lockstep
