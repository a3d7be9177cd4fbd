#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/class_registry.h>
#include <lockstep/models/config/object_config.h>
#include <lockstep/models/losses/loss.h>
#include <lockstep/runtime/core/error.h>

// The JSON of losses in Keras' files.

namespace lockstep {

/// Keras' JSON object of a loss; for a loss without a config, only the name. Throws Unsupported, naming the loss, for a
/// custom class that is not registered.
nlohmann::ordered_json loss_json(const Loss& loss, ConfigForm form);
/// Makes a loss from Keras' JSON object or from a name such as "mse". Searches the custom losses `own` first. Throws
/// InputError for unknown or invalid options, and for a loss that is neither in `own` nor of a known class; the message
/// lists the known names.
Loss loss_from_json(const nlohmann::ordered_json& value, const std::vector<Loss>& own);

/// The classes of losses. Keras' classes and functions are registered under their plain_name (object_config.h).
ClassRegistry<Loss, OptionVisitor>& loss_classes();

/// The names of the options that all losses and metrics have.
inline const std::array<std::string, 3> names_of_common_options{"dtype", "name", "reduction"};
/// Throws InvalidArgument, naming the class and the option, if the config of a loss or a metric has a number that is
/// infinite or NaN: JSON has no such numbers.
void check_finite(const std::optional<ObjectConfig>& config);
/// Reads the options that all losses and metrics have. Throws InputError for a reduction other than the mean over the
/// batch ("sum_over_batch_size", or "auto" in Keras 2).
void read_common_options(OptionVisitor& visitor);

/// The first object of `own` whose name equals a name that was read: the class, function or object name, or the name of
/// a registered class without its package. Null if there is none.
template <class T>
const T* find_own(const std::vector<T>& own, const NamedObject& read) {
  const std::string& class_name = read.object.class_name;
  const std::string plain = class_name.substr(class_name.find('>') + 1);
  const auto found = std::ranges::find_if(own, [&](const T& object) {
    return object.name() == class_name || object.name() == plain || object.name() == read.name;
  });
  return found == own.end() ? nullptr : &*found;
}

/// The part of the error message for an unknown name that mentions the option custom_objects (LoadOptions). Empty if
/// `own` is empty, as in the program lockstep, which does not have the option.
template <class T>
const char* not_among(const std::vector<T>& own) {
  return own.empty() ? "" : ", and custom_objects has none of this name";
}

/// Makes a loss or metric from its options; `kind` is for messages, e.g. "loss". Throws InputError for unknown and
/// invalid options.
template <class T>
T make_from(T (*maker)(OptionVisitor&), const std::string& kind, const ObjectConfig& config) {
  const std::string object = "the " + kind + " " + config.class_name;
  OptionVisitor visitor(object, *config.options);
  try {
    read_common_options(visitor);
    T made = maker(visitor);
    visitor.check_all_read();
    return made;
  } catch (const InvalidArgument& error) {
    fail<InputError>("{}: {}", object, error.what());
  }
}

}  // namespace lockstep
