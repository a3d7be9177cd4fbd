#include "lockstep/models/serialization/operations.h"

#include <nlohmann/json.hpp>

namespace lockstep {

using Json = nlohmann::ordered_json;

bool is_tensor(const Json& value) { return value.is_object() && value.value("class_name", "") == "__keras_tensor__"; }

bool is_operation(const Json& layer) {
  const Json& options = layer.at("config");
  // Operations that make masks have the dtype bool, and no layer has.
  return options.is_object() && !options.contains("trainable") && options.value("dtype", Json("bool")) == "bool" &&
         !options.contains("layers") && layer.contains("inbound_nodes") && !layer["inbound_nodes"].empty() &&
         layer["inbound_nodes"][0].is_object();
}

}  // namespace lockstep
