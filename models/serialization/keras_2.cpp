#include "lockstep/models/serialization/keras_2.h"

#include <array>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <lockstep/models/layers/keras_names.h>
#include <lockstep/models/layers/naming.h>

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

/// Whether a version belongs to multi-backend Keras, whose last version was 2.3.1. Versions of TensorFlow's Keras end
/// in -tf or are later.
bool is_of_several_backends(std::string_view version) {
  constexpr std::array<std::string_view, 4> series{"2.0.", "2.1.", "2.2.", "2.3."};
  if (version.ends_with("-tf")) return false;
  for (const std::string_view begin : series)
    if (version.starts_with(begin)) return true;
  return false;
}

/// Multi-backend Keras applied clipnorm to the norm of all gradients together, as global_clipnorm does now.
void translate_optimizer(Json& options) {
  if (!options.contains("clipnorm")) return;
  options["global_clipnorm"] = options["clipnorm"];
  options.erase("clipnorm");
}

/// Adds the names of a model's output layers: lists in order, dictionaries by key, as in Keras.
void add_output_layers(const Json& value, std::vector<std::string>& layers) {
  if (value.is_array() && !value.empty() && value[0].is_string()) {
    layers.push_back(value[0].get<std::string>());
  } else if (value.is_object()) {
    const nlohmann::json sorted = value;
    for (const auto& part : sorted) add_output_layers(part, layers);
  } else if (value.is_array()) {
    for (const Json& part : value) add_output_layers(part, layers);
  }
}

void remove_prefix(Json& metrics, const std::string& prefix) {
  const Json::json_pointer name("/config/name");
  if (metrics.is_object() && metrics.contains(name) && metrics[name].is_string()) {
    if (const auto text = metrics[name].get<std::string>(); text.starts_with(prefix))
      metrics[name] = text.substr(prefix.size());
  } else if (metrics.is_structured()) {
    for (Json& part : metrics) remove_prefix(part, prefix);
  }
}

/// Undoes the renaming of metrics by Keras 2, which saved "mae" of a model with several outputs as "output_mae".
void remove_names_of_outputs(Json& model) {
  const Json::json_pointer output_layers("/config/output_layers");
  if (!model.contains(output_layers) || !model.contains("compile_config")) return;
  std::vector<std::string> layers;
  add_output_layers(model[output_layers], layers);
  if (layers.size() < 2) return;
  UniqueNames unique;
  for (std::string& layer : layers) layer = unique.make(layer);
  for (const char* key : {"metrics", "weighted_metrics"}) {
    if (!model["compile_config"].contains(key)) continue;
    Json& metrics = model["compile_config"][key];
    if (metrics.is_array() && metrics.size() == layers.size())
      for (std::size_t i = 0; i < layers.size(); ++i) remove_prefix(metrics[i], layers[i] + "_");
    if (metrics.is_object())
      for (const std::string& layer : layers)
        if (metrics.contains(layer)) remove_prefix(metrics[layer], layer + "_");
  }
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
  remove_names_of_outputs(model);
  const Json::json_pointer optimizer("/compile_config/optimizer_config/config");
  if (is_of_several_backends(writer.version) && model.contains(optimizer) && model[optimizer].is_object())
    translate_optimizer(model[optimizer]);
  return model;
}

}  // namespace lockstep
