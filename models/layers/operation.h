#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/layers/layer.h>

// Keras' operations (keras.ops) as layers without weights. Saved models store them as Keras serializes a call: class,
// options and arguments. Axes include the batch axis, 0, as in Keras; an operation must not reduce or reorder it.

namespace lockstep {

/// Keras' names of the operations, such as "Mean".
std::vector<std::string> operation_names();

/// The form of an operation in files.
struct OperationForm {
  std::string module{};                             ///< Keras' module
  const nlohmann::ordered_json* options = nullptr;  ///< the options, without the name
  const nlohmann::ordered_json* args = nullptr;     ///< the arguments of the call; see operation_layer()
};
/// The form of a layer made by operation_layer(). Its pointers are valid as long as the layer exists. For any other
/// layer, they are null.
OperationForm operation_form(const LayerImpl& layer);
/// The dtypes of an operation's results for inputs of these shapes (without the batch axis) and dtypes; an input
/// without an entry in `dtypes` counts as f32. Empty if `layer` is not an operation. Throws InvalidArgument for inputs
/// that the operation does not take.
std::vector<DType> operation_dtypes(const LayerImpl& layer, std::span<const Shape> inputs,
                                    std::span<const DType> dtypes);
/// Keras' name of a dtype, such as "float32".
std::string_view keras_dtype_name(DType dtype);
/// Moves the arguments of a call that files give by name, such as Pad's constant_values, from `named` to their places
/// in the list `args`, and fills skipped places with null. Does nothing for a class that is not an operation.
void place_arguments(std::string_view class_name, nlohmann::ordered_json& args, nlohmann::ordered_json& named);
/// Whether operation_names() has the name.
bool is_operation_name(std::string_view class_name);
/// Makes the layer of an operation. `options`: the arguments of Keras' class, by name. `args`: the list of the call's
/// arguments, where {"tensor": i} stands for input i; null means a call on inputs 0 to `inputs` - 1, in order. Throws
/// InvalidArgument for an operation that is not one of operation_names(). The layer's output_shape throws
/// InvalidArgument for options and inputs that the operation does not take.
Layer operation_layer(std::string_view class_name, const nlohmann::ordered_json& options,
                      const nlohmann::ordered_json& args, std::size_t inputs, std::string name = {});

}  // namespace lockstep
