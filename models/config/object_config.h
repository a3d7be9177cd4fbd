#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/option_visitor.h>

// Objects of Keras, such as optimizers, schedules, losses and metrics, in the JSON of its files.

namespace lockstep {

/// Where Keras' list of a model's layers and its files begin to differ: the legacy files leave modules out.
enum class ConfigForm { keras_3, legacy_h5 };

/// What an object was made of: a class, and what its constructor takes.
struct ObjectConfig {
  std::string class_name;                                          ///< Keras'
  std::shared_ptr<const nlohmann::ordered_json> options = none();  ///< by Keras' names

  /// No options.
  static std::shared_ptr<const nlohmann::ordered_json> none();
  /// Those that were written.
  static std::shared_ptr<const nlohmann::ordered_json> copy_of(const nlohmann::ordered_json& options);
};

/// An object of this class with these options, without those that are empty.
template <class Options>
ObjectConfig config_of(const char* class_name, void (*list)(OptionVisitor&, Options&), Options options) {
  OptionVisitor visitor(class_name);
  list(visitor, options);
  return {class_name, ObjectConfig::copy_of(visitor.values())};
}

/// Keras 3's form of an object without options: {"module", "class_name", "config": {}, "registered_name": null}.
nlohmann::ordered_json keras_object(std::string_view module, std::string_view class_name);

/// The same with the object's options, sorted; a legacy file has class and config alone.
nlohmann::ordered_json object_json(std::string_view module, const ObjectConfig& object, ConfigForm form);

/// What Keras writes for a function: its name.
nlohmann::ordered_json function_json(const std::string& name, ConfigForm form);

/// An object as it was read.
struct NamedObject {
  ObjectConfig object;  ///< with the name alone, where there is no more
  std::string name;     ///< its own; empty where it says none
};

/// From an object, or from the name of one or of a function; `kind` is for messages: "loss". Options that are null
/// count as missing. Throws InputError for what is none of these.
NamedObject object_from_json(const char* kind, const nlohmann::ordered_json& value);

/// "MeanSquaredError", "mean_squared_error" and "meansquarederror" are one.
std::string plain_name(std::string_view name);

}  // namespace lockstep
