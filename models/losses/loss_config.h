#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/keras_class.h>
#include <lockstep/models/config/object_config.h>
#include <lockstep/models/losses/loss.h>
#include <lockstep/runtime/core/error.h>

// Losses in Keras' files.

namespace lockstep {

/// Keras' object, or the name of one of a program's own.
nlohmann::ordered_json loss_json(const Loss& loss, ConfigForm form);
/// From an object or a name such as "mse". Throws InputError, naming the loss and what would be right, for what is
/// neither known here nor among `own`, which is found by name.
Loss loss_from_json(const nlohmann::ordered_json& value, const std::vector<Loss>& own);

/// By plain_name of Keras' class or function.
const Makers<Loss, OptionVisitor>& loss_makers();

/// Reads what all losses and metrics have. Throws InputError where Keras means more than this project does.
void read_common_options(OptionVisitor& visitor);

/// One of a program's own, by the name of its function, class or object; null if it is none of them.
template <class T>
const T* find_own(const std::vector<T>& own, const NamedObject& read) {
  const auto found = std::ranges::find_if(
      own, [&](const T& object) { return object.name() == read.object.class_name || object.name() == read.name; });
  return found == own.end() ? nullptr : &*found;
}

/// A loss or metric of its options; `kind` is for messages: "loss". Throws InputError for options that it does not
/// have.
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
