#include "lockstep/models/serialization/mask_operations.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/models/serialization/operations.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::set<std::string>;

bool is_mask_argument(const std::string& name) {
  return name == "mask" || name == "query_mask" || name == "value_mask" || name == "key_mask";
}

std::string name_of(const Json& layer) { return layer.at("config").at("name").get<std::string>(); }

/// Adds the names of the layers whose results are in `value`.
void add_sources(const Json& value, Names& names) {
  if (is_tensor(value)) {
    names.insert(value.at("config").at("keras_history").at(0).get<std::string>());
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
      add_sources(value, is_mask_argument(key) ? masks : values);
  }
}

/// An operation counts for what its result is used for.
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

/// Whether `layer` masks the steps at which its input, the first operand of NotEqual, equals the second one.
bool makes_mask(const Json& layer, const Json& operands) {
  const Json& options = layer.at("config");
  const bool embeds = layer.at("class_name") == "Embedding" && options.value("mask_zero", false) && operands[1] == 0;
  const bool masks = layer.at("class_name") == "Masking" && options.value("mask_value", Json()) == operands[1];
  if (!embeds && !masks) return false;
  return std::ranges::any_of(layer.at("inbound_nodes"),
                             [&](const Json& node) { return node.at("args").at(0) == operands[0]; });
}

/// Throws InputError unless an operation belongs to the masks that Embedding and Masking make and layers combine.
void check(const Json& operation, const Json& layers) {
  const auto class_name = operation.at("class_name").get<std::string>();
  const std::array combining{"Any", "LogicalOr", "ExpandDims", "Squeeze", "ZerosLike", "OnesLike", "Concatenate"};
  bool known = std::ranges::find(combining, class_name) != combining.end();
  if (class_name == "NotEqual") {
    const Json& operands = operation.at("inbound_nodes").at(0).at("args");
    known = operands.size() == 2 &&
            std::ranges::any_of(layers, [&](const Json& layer) { return makes_mask(layer, operands); });
  }
  require<InputError>(
      known,
      "operation '{}' of class {} computes a mask; only those of Embedding with mask_zero and of Masking "
      "can be read",
      name_of(operation), class_name);
}

/// Removes the arguments of a call that are masks which `left_out` compute. A call with initial states keeps them, to
/// be refused: a network has no masks there, as Keras 3 unless they are given.
void erase_masks(Json& node, const Names& left_out, bool recurrent) {
  if (!node.is_object()) return;
  Json& arguments = node.at("kwargs");
  const bool has_states = node.at("args").size() > 1 || !arguments.value("initial_state", Json()).is_null();
  if (recurrent && has_states) return;
  for (auto argument = arguments.begin(); argument != arguments.end();) {
    Names sources;
    add_sources(argument.value(), sources);
    const bool erased =
        is_mask_argument(argument.key()) && !sources.empty() && std::ranges::includes(left_out, sources);
    argument = erased ? arguments.erase(argument) : std::next(argument);
  }
}

}  // namespace

Json without_masks(const Json& config) {
  const Uses uses = uses_of(config);
  Names left_out;
  Json kept = Json::array();
  for (const Json& layer : config.at("layers")) {
    const bool only_masks =
        is_operation(layer) && uses.as_masks.contains(name_of(layer)) && !uses.as_values.contains(name_of(layer));
    if (only_masks) {
      check(layer, config.at("layers"));
      left_out.insert(name_of(layer));
    } else {
      kept.push_back(layer);
    }
  }
  for (Json& layer : kept)
    if (!left_out.empty() && layer.contains("inbound_nodes"))
      for (Json& node : layer["inbound_nodes"])
        erase_masks(node, left_out, is_recurrent(layer.at("class_name").get<std::string>()));
  return kept;
}

}  // namespace lockstep
