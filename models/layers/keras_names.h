#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/kernels/activation.h>
#include <lockstep/models/layers/constraints.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/regularizers.h>

// The JSON of activations, regularizers, constraints and initializers in Keras' files. The find_ functions return an
// empty result for unsupported and invalid values; they also read the forms that Keras 2 wrote.

namespace lockstep {

/// Replaces "hard_sigmoid" when files of Keras 2 are read, since Keras 3's function of this name differs.
inline constexpr std::string_view keras_2_hard_sigmoid = "hard_sigmoid of Keras 2";

/// Keras' name, e.g. "relu". Empty for gelu_tanh, which is gelu with an argument in Keras, and for
/// keras_2_hard_sigmoid.
std::optional<std::string_view> activation_name(Activation activation);
/// Serializes an activation in Keras' JSON form: its name or, for gelu_tanh, Keras' operation Gelu; null for
/// keras_2_hard_sigmoid, which Keras 3 lacks.
nlohmann::ordered_json activation_config(Activation activation);
/// Reads an activation from its name, from Keras' object for a function, from the operation Gelu, or from a layer that
/// computes one of the functions, such as ReLU or LeakyReLU(0.2); null means linear.
std::optional<Activation> find_activation(const nlohmann::ordered_json& value);
/// All names, in the form "one of linear, relu, ...", for messages.
std::string activation_names();

/// Serializes a regularizer in Keras' JSON form; null for no penalty.
nlohmann::ordered_json regularizer_config(const Regularizer& regularizer);
/// Reads a regularizer in Keras' JSON form; null means no penalty.
std::optional<Regularizer> find_regularizer(const nlohmann::ordered_json& value);

/// Serializes a constraint in Keras' JSON form; null for no constraint.
nlohmann::ordered_json constraint_config(const Constraint& constraint);
/// Reads a constraint in Keras' JSON form; null means no constraint.
std::optional<Constraint> find_constraint(const nlohmann::ordered_json& value);

/// Serializes an initializer in Keras' JSON form; null for any initializer that is not from initializers.h.
nlohmann::ordered_json initializer_config(const SeededInitializer& initializer);
/// Reads an initializer in Keras' JSON form; empty if it is unknown, not valid or has options that are not
/// supported.
SeededInitializer find_initializer(const nlohmann::ordered_json& value);

}  // namespace lockstep
