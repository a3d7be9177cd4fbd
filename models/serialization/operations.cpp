#include "lockstep/models/serialization/operations.h"

#include <string>

#include <nlohmann/json.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/layers/layer_registry.h>
#include <lockstep/models/layers/operation.h>

namespace lockstep {

using Json = nlohmann::ordered_json;

bool is_tensor(const Json& value) { return value.is_object() && value.value("class_name", "") == "__keras_tensor__"; }

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
