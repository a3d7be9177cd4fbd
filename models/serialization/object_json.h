#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/serialization/network_config.h>

// Objects of Keras in the JSON of its files.

namespace lockstep {

/// {"module": ..., "class_name": ..., "config": {...}, "registered_name": null}; a legacy file has class and config
/// alone.
nlohmann::ordered_json object_json(std::string_view module, const ObjectConfig& object, ConfigForm form);

/// What Keras writes for a function: its name.
nlohmann::ordered_json function_json(const std::string& name, ConfigForm form);

/// An object as it was read.
struct NamedObject {
  ObjectConfig object;  ///< with the name alone, where there is no more
  std::string name;     ///< its own; empty where it says none
};

/// From an object, or from the name of one or of a function; `kind` is for messages: "loss". Throws InputError for
/// what is none of these, and for options that are objects themselves.
NamedObject object_from_json(const char* kind, const nlohmann::ordered_json& value);

/// "MeanSquaredError", "mean_squared_error" and "meansquarederror" are one.
std::string plain_name(std::string_view name);

}  // namespace lockstep
