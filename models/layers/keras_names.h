#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/layers/constraints.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/regularizers.h>

// What stands in Keras' files for functions and small objects. The find_ functions give nothing for what this project
// does not have; they read Keras 2's forms, too.

namespace lockstep {

/// What files of Keras 2 call hard_sigmoid, which is another function than Keras 3's, where they have been read.
inline constexpr std::string_view keras_2_hard_sigmoid = "hard_sigmoid of Keras 2";

/// "relu"; nothing for gelu_tanh, which is a call of Keras' gelu, and for the hard_sigmoid of Keras 2.
std::optional<std::string_view> activation_name(Activation activation);
/// By such a name, or from the object that Keras writes for one.
std::optional<Activation> find_activation(const nlohmann::ordered_json& value);
/// For messages: all of them.
std::string activation_names();

/// Null for no penalty.
nlohmann::ordered_json regularizer_config(const Regularizer& regularizer);
/// No penalty for null.
std::optional<Regularizer> find_regularizer(const nlohmann::ordered_json& value);

/// Null for no constraint.
nlohmann::ordered_json constraint_config(const Constraint& constraint);
/// No constraint for null.
std::optional<Constraint> find_constraint(const nlohmann::ordered_json& value);

/// Null for an initializer that is not one of the functions that take a key.
nlohmann::ordered_json initializer_config(const SeededInitializer& initializer);
/// Empty for an unknown one.
SeededInitializer find_initializer(const nlohmann::ordered_json& value);

}  // namespace lockstep
