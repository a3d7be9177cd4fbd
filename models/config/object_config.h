#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/option_visitor.h>

// The JSON of optimizers, schedules, losses, metrics and other objects in Keras' files.

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

/// The configuration of an object of this class with these options. Options that Options::describe leaves out, such as
/// empty ones, are not in the configuration.
template <class Options>
ObjectConfig config_of(const char* class_name, Options options) {
  OptionVisitor visitor(class_name);
  options.describe(visitor);
  return {class_name, ObjectConfig::copy_of(visitor.values())};
}

/// Whether the object has an option of this name.
bool has_option(const ObjectConfig& object, std::string_view name);

/// How files name a class.
struct FileClass {
  std::string module{};           ///< Python module; empty (null in files) for registered classes
  std::string class_name{};       ///< the class's own name
  std::string registered_name{};  ///< "package>name", or the class name for keras.applications; null in files if empty
};

/// "package>name". Throws InvalidArgument if the package or the name is empty or contains '>'.
std::string registered_name(std::string_view package, std::string_view name);
/// Whether a class name in a file has the form "package>name", which only registered classes have.
bool is_registered(std::string_view class_name);
/// The class name of an object in a file: "package>name" for a registered class, otherwise its "class_name".
std::string class_name_in(const nlohmann::ordered_json& object);

/// Keras 3's form of an object without options: {"module", "class_name", "config": {}, "registered_name"}.
nlohmann::ordered_json keras_object(const FileClass& file_class);
/// Converts an object from Keras 3's form to the form in legacy files, {"class_name", "config"}. The "class_name" is
/// then the registered name if there is one.
void make_legacy(nlohmann::ordered_json& object);

/// The options, sorted by key.
nlohmann::ordered_json sorted_options(const ObjectConfig& object);
/// Keras' JSON object of a class, with these options as its "config".
nlohmann::ordered_json object_json(const FileClass& file_class, const nlohmann::ordered_json& options, ConfigForm form);

/// Keras' form of a function, given by name: the name itself in legacy files, otherwise an object that contains the
/// name.
nlohmann::ordered_json function_json(const std::string& name, ConfigForm form);

/// An object or a function read from a file.
struct NamedObject {
  ObjectConfig object;  ///< if the file has only a name, this name is the class_name
  std::string name;     ///< the object's "name"; empty if it has none
};

/// Reads an object, the name of a class or function, or Keras' object for a function. `kind` is for messages, e.g.
/// "loss". Options that are null, Python's None, stay null; "dtype" is ignored. Throws InputError for a `value` of any
/// other form.
NamedObject object_from_json(const char* kind, const nlohmann::ordered_json& value);

/// The name in lower case without underscores, so that "MeanSquaredError" and "mean_squared_error" compare equal.
std::string plain_name(std::string_view name);

}  // namespace lockstep
