#include "lockstep/models/serialization/keras_2.h"

#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include <lockstep/models/layers/keras_names.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

void rename_hard_sigmoid(Json& value) {
  for (auto& [key, part] : value.items()) {
    const bool is_activation = key == "activation" || key == "recurrent_activation";
    if (is_activation && part == "hard_sigmoid") part = keras_2_hard_sigmoid;
    if (part.is_structured()) rename_hard_sigmoid(part);
  }
}

/// Whether this is the Keras of several backends, whose last version was 2.3.1, and not TensorFlow's, whose versions
/// end in -tf or are later ones.
bool is_of_several_backends(std::string_view version) {
  constexpr std::array<std::string_view, 4> series{"2.0.", "2.1.", "2.2.", "2.3."};
  if (version.ends_with("-tf")) return false;
  for (const std::string_view begin : series)
    if (version.starts_with(begin)) return true;
  return false;
}

/// It clipped by the norm of all gradients together.
void translate_optimizer(Json& options) {
  if (!options.contains("clipnorm")) return;
  options["global_clipnorm"] = options["clipnorm"];
  options.erase("clipnorm");
}

void remove_training(Json& value) {
  for (auto& [key, part] : value.items()) {
    if (key == "kwargs" && part.is_object()) part.erase("training");
    if (part.is_structured()) remove_training(part);
  }
}

}  // namespace

Json in_own_terms(Json model, const FileWriter& writer) {
  if (!model.is_object() || writer.backend == "lockstep" || writer.version.empty()) return model;
  if (!writer.version.starts_with("2.")) {
    if (model.contains("config")) remove_training(model["config"]);
    return model;
  }
  rename_hard_sigmoid(model);
  const Json::json_pointer optimizer("/compile_config/optimizer_config/config");
  if (is_of_several_backends(writer.version) && model.contains(optimizer) && model[optimizer].is_object())
    translate_optimizer(model[optimizer]);
  return model;
}

}  // namespace lockstep
