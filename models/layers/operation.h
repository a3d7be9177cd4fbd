#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/layers/layer.h>

// Keras' operations (keras.ops) as layers without weights, which whole-model files hold as Keras records them. Axes
// count the batch axis, as in Keras; no operation may work along it.

namespace lockstep {

/// Keras' names of the operations, such as "Mean".
std::vector<std::string> operation_names();

/// The form of an operation in files.
struct OperationForm {
  std::string module{};                             ///< Keras' module
  const nlohmann::ordered_json* options = nullptr;  ///< the options, without the name
  const nlohmann::ordered_json* args = nullptr;     ///< the arguments of the call; see operation_layer()
};
/// The form of a layer that is an operation; for other layers the pointers are null. They are valid as long as the
/// layer exists.
OperationForm operation_form(const LayerImpl& layer);
/// Whether operation_names() has the name.
bool is_operation_name(std::string_view class_name);
/// The layer of an operation. `options`: the arguments of Keras' class, by name. `args`: the list of the arguments of
/// its call, in which {"tensor": i} stands for input i; null stands for all inputs in order, of which there are
/// `inputs`. Throws InvalidArgument for an operation that is not one of operation_names(). The layer's output_shape
/// throws InvalidArgument for options and inputs that the operation does not take.
Layer operation_layer(std::string_view class_name, const nlohmann::ordered_json& options,
                      const nlohmann::ordered_json& args, std::size_t inputs, std::string name = {});

}  // namespace lockstep
