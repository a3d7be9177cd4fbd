#include "lockstep/models/serialization/mask_operations.h"

#include <set>
#include <string>
#include <utility>

#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/models/serialization/operations.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::set<std::string>;

/// Whether an argument of a call is the mask that an input carries. That of Softmax is an input of its own.
bool is_mask_argument(const Json& layer, const std::string& name) {
  if (layer.at("class_name") == "Softmax") return false;
  return name == "mask" || name == "query_mask" || name == "value_mask" || name == "key_mask";
}

std::string name_of(const Json& layer) { return layer.at("config").at("name").get<std::string>(); }

/// Adds the names of the layers whose results are in `value`.
void add_sources(const Json& value, Names& names) {
  if (is_tensor(value)) {
    names.insert(history_of(value).at(0).get<std::string>());
  } else if (value.is_structured()) {
    for (const Json& part : value) add_sources(part, names);
  }
}

/// Adds the names in a model's output_layers.
void add_outputs(const Json& value, Names& names) {
  if (value.is_array() && !value.empty() && value[0].is_string()) {
    names.insert(value[0].get<std::string>());
  } else if (value.is_structured()) {
    for (const Json& part : value) add_outputs(part, names);
  }
}

/// The layers whose results are used.
struct Uses {
  Names as_masks;
  Names as_values;
};

/// Adds what the calls of a layer use.
void add_uses(const Json& layer, Names& values, Names& masks) {
  for (const Json& node : layer.value("inbound_nodes", Json::array())) {
    if (!node.is_object()) continue;
    add_sources(node.at("args"), values);
    for (const auto& [key, value] : node.at("kwargs").items())
      add_sources(value, is_mask_argument(layer, key) ? masks : values);
  }
}

/// The uses of all results. The inputs of an operation count as used in the same ways as the operation's result.
Uses uses_of(const Json& config) {
  Uses uses;
  add_outputs(config.at("output_layers"), uses.as_values);
  for (const Json& layer : config.at("layers"))
    if (!is_operation(layer)) add_uses(layer, uses.as_values, uses.as_masks);
  for (std::size_t before = 0, now = 1; before != now; now = uses.as_values.size() + uses.as_masks.size()) {
    before = uses.as_values.size() + uses.as_masks.size();
    for (const Json& layer : config.at("layers")) {
      if (!is_operation(layer)) continue;
      for (Names* const names : {&uses.as_values, &uses.as_masks})
        if (names->contains(name_of(layer))) add_uses(layer, *names, *names);
    }
  }
  return uses;
}

/// Throws InputError for a mask among the arguments in order: in Keras, the result of a layer has only a mask given by
/// name, and MultiHeadAttention does not take it otherwise.
void check_order(const Json& layer, const Json& arguments) {
  const auto class_name = layer.at("class_name").get<std::string>();
  const bool has_several = is_multi_head_attention(class_name);
  const std::size_t first = has_several                ? 3
                            : is_recurrent(class_name) ? 2
                            : is_attention(class_name) ? 1
                                                       : arguments.size();
  for (std::size_t place = first; place < arguments.size() && place < first + (has_several ? 3 : 1); ++place)
    require<InputError>(arguments[place].is_null(),
                        "layer '{}' is called with a mask in order: in Keras, give it by name, mask=...",
                        name_of(layer));
}

/// Moves a call's masks from "kwargs" to "masks".
void move_masks(const Json& layer, Json& node) {
  if (!node.is_object()) return;
  check_order(layer, node.at("args"));
  // A list of masks may hold nothing but null: Keras then reads no masks, also not those that the inputs carry.
  const bool takes_list = is_attention(layer.at("class_name").get<std::string>());
  Json kept = Json::object();
  Json moved = Json::object();
  for (const auto& [key, value] : node.at("kwargs").items()) {
    Names sources;
    if (is_mask_argument(layer, key)) add_sources(value, sources);
    const bool is_list = takes_list && key == "mask" && value.is_array() && !value.empty();
    (sources.empty() && !is_list ? kept : moved)[key] = value;
  }
  node["kwargs"] = std::move(kept);
  if (!moved.empty()) node["masks"] = std::move(moved);
}

}  // namespace

SeparatedMasks separate_masks(const Json& config) {
  const Uses uses = uses_of(config);
  SeparatedMasks separated;
  for (const Json& layer : config.at("layers")) {
    const bool is_mask = is_operation(layer) && uses.as_masks.contains(name_of(layer));
    if (is_mask) separated.operations[name_of(layer)] = layer;
    if (!is_mask || uses.as_values.contains(name_of(layer))) separated.layers.push_back(layer);
  }
  for (Json& layer : separated.layers)
    if (!is_operation(layer) && layer.contains("inbound_nodes"))
      for (Json& node : layer["inbound_nodes"]) move_masks(layer, node);
  return separated;
}

}  // namespace lockstep
