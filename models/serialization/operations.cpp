#include "lockstep/models/serialization/operations.h"

#include <string>

#include <nlohmann/json.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/layers/layer_registry.h>
#include <lockstep/models/layers/operation.h>

namespace lockstep {

using Json = nlohmann::ordered_json;

std::optional<std::pair<double, double>> affine_form(std::string_view operation, const Json& args,
                                                     bool (*is_result)(const Json& value)) {
  if (operation == "Negative") return std::pair(-1.0, 0.0);
  if (args.size() != 2 || is_result(args[0]) == is_result(args[1])) return {};
  const bool number_first = is_result(args[1]);
  const Json& value = args[number_first ? 0 : 1];
  if (!value.is_number()) return {};
  const auto number = value.get<double>();
  if (operation == "Add") return std::pair(1.0, number);
  if (operation == "Multiply") return std::pair(number, 0.0);
  if (operation == "Subtract") return number_first ? std::pair(-1.0, number) : std::pair(1.0, -number);
  const bool divides = operation == "TrueDivide" || operation == "Divide";
  if (divides && !number_first && number != 0) return std::pair(1 / number, 0.0);
  return {};
}

bool is_tensor(const Json& value) { return value.is_object() && value.value("class_name", "") == "__keras_tensor__"; }

const Json& history_of(const Json& tensor) { return tensor.at("config").at("keras_history"); }

bool is_operation(const Json& layer) {
  const std::string class_name = class_name_in(layer);
  const bool is_own = layer_classes().find(class_name) != nullptr && !layer_classes().is_keras(class_name);
  if (is_own || is_registered(class_name)) return false;
  const Json& options = layer.at("config");
  if (!options.is_object() || options.contains("trainable") || options.contains("layers")) return false;
  // Layers without "trainable" have a dtype. Operations that make masks have the dtype bool or null, and a few others
  // have one.
  const Json dtype = options.value("dtype", Json());
  const bool has_dtype_of_layer =
      !dtype.is_null() && dtype != "bool" && !is_operation_name(layer.value("class_name", std::string()));
  return !has_dtype_of_layer && layer.contains("inbound_nodes") && !layer["inbound_nodes"].empty() &&
         layer["inbound_nodes"][0].is_object();
}

}  // namespace lockstep
