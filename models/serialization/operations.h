#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

// The form in which Keras 3 writes results of layers, and operations such as x + 3, into a functional model's
// configuration.

namespace lockstep {

/// Whether a value in the arguments of a call is the result of a layer.
bool is_tensor(const nlohmann::ordered_json& value);
/// Keras' reference to the result of a layer, e.g. ["dense", 0, 0]. Precondition: is_tensor(tensor).
const nlohmann::ordered_json& history_of(const nlohmann::ordered_json& tensor);

/// scale and offset of an operation that a Rescaling layer computes, which is a negation or an operation of a tensor
/// and a number; empty for other operations. is_result(value) is whether an argument is a tensor and not a value.
std::optional<std::pair<double, double>> affine_form(std::string_view operation, const nlohmann::ordered_json& args,
                                                     bool (*is_result)(const nlohmann::ordered_json& value));

/// Whether a layer's object describes an operation of Keras. Such an object lacks the options that all layers have.
/// False for classes that are registered (register_keras_serializable) and for lockstep's own layers. Precondition: the
/// object has "class_name" and "config".
bool is_operation(const nlohmann::ordered_json& layer);

}  // namespace lockstep
