#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/option_visitor.h>

// The JSON of Keras' objects, such as optimizers, schedules, losses and metrics, in its files.

namespace lockstep {

/// The form of an object's JSON: Keras 3's form, or the form in legacy `.h5` files, which leaves out "module" and
/// "registered_name".
enum class ConfigForm { keras_3, legacy_h5 };

/// The configuration of an object: its class, and the arguments of its constructor.
struct ObjectConfig {
  std::string class_name;                                          ///< Keras' name of the class
  std::shared_ptr<const nlohmann::ordered_json> options = none();  ///< the arguments, under Keras' names

  /// No options.
  static std::shared_ptr<const nlohmann::ordered_json> none();
  /// A copy of `options`.
  static std::shared_ptr<const nlohmann::ordered_json> copy_of(const nlohmann::ordered_json& options);
};

/// The configuration of an object of this class with these options. Options that `list` leaves out, such as empty ones,
/// are not in the configuration.
template <class Options>
ObjectConfig config_of(const char* class_name, void (*list)(OptionVisitor&, Options&), Options options) {
  OptionVisitor visitor(class_name);
  list(visitor, options);
  return {class_name, ObjectConfig::copy_of(visitor.values())};
}

/// Keras 3's form of an object without options: {"module", "class_name", "config": {}, "registered_name": null}.
nlohmann::ordered_json keras_object(std::string_view module, std::string_view class_name);

/// Serializes the object with its options, sorted by key. In legacy files it has only "class_name" and "config".
nlohmann::ordered_json object_json(std::string_view module, const ObjectConfig& object, ConfigForm form);

/// Keras' form of a function, given by name: the name itself in legacy files, otherwise an object that holds it.
nlohmann::ordered_json function_json(const std::string& name, ConfigForm form);

/// An object or a function read from a file.
struct NamedObject {
  ObjectConfig object;  ///< if the file has only a name, it is the class_name
  std::string name;     ///< the object's "name"; empty if it has none
};

/// Reads an object, the name of a class or function, or Keras' object for a function. `kind` is for messages, e.g.
/// "loss". Options that are null, Python's None, stay null; "dtype" is ignored. Throws InputError for a `value` of any
/// other form.
NamedObject object_from_json(const char* kind, const nlohmann::ordered_json& value);

/// The name in lower case without underscores, so that "MeanSquaredError" and "mean_squared_error" compare equal.
std::string plain_name(std::string_view name);

}  // namespace lockstep
