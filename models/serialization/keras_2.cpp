#include "lockstep/models/serialization/keras_2.h"

#include <array>

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

}  // namespace

Json in_terms_of_keras_3(Json model, std::string_view version) {
  if (!version.starts_with("2.") || !model.is_object()) return model;
  rename_hard_sigmoid(model);
  const Json::json_pointer optimizer("/compile_config/optimizer_config/config");
  if (is_of_several_backends(version) && model.contains(optimizer) && model[optimizer].is_object())
    translate_optimizer(model[optimizer]);
  return model;
}

}  // namespace lockstep
