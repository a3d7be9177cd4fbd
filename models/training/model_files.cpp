#include "lockstep/models/training/model_files.h"

#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

#include <lockstep/models/data/deflate.h>
#include <lockstep/models/serialization/hdf5_file.h>
#include <lockstep/models/serialization/keras_file.h>
#include <lockstep/models/serialization/keras_order.h>
#include <lockstep/models/serialization/legacy_file.h>
#include <lockstep/models/training/model_state.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {
namespace {

/// How files of one extension are written and read.
struct Format {
  void (*save)(const Network&, const NestedModel&, const std::optional<Training>&, const std::string& path);
  nlohmann::ordered_json (*read_config)(const std::string& path);
  void (*read_weights)(const std::string& path, const std::vector<SavedLayer>&, std::optional<Training>&);
};

constexpr Format keras{save_keras_file, read_keras_config, read_keras_weights};
constexpr Format legacy{save_legacy_file, read_legacy_config, read_legacy_weights};

/// Throws InvalidArgument for an extension that stands for no format.
const Format& format_of(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  if (extension == ".keras") return keras;
  require(
      extension == ".h5" || extension == ".hdf5",
      "{}: the extension of a model's file says its format: .keras, or .h5 or .hdf5 for Keras' legacy one, got {:?}",
      path, extension);
  return legacy;
}

/// As the extension says, but for what Keras 2 until 2.12 wrote in a `.keras` file: the legacy format.
const Format& format_to_read(const std::string& path) {
  const Format& format = format_of(path);
  return hdf5::is_hdf5(path) ? legacy : format;
}

void check_outside_replica(const char* what) {
  require<LogicError>(!current_context().in_replica(), "{} works on all replicas' weights; call it outside a replica",
                      what);
}

void add_trained(const Layer& layer, std::vector<Variable>& variables) {
  for (const Variable& variable : layer.impl().variables())
    if (variable.trainable()) variables.push_back(variable);
}

/// Of a compiled model that is saved as `saved`.
std::optional<Training> training_of(const Model::State& model, const NestedModel& saved) {
  if (!model.compiled) return {};
  Training training{.config = {.optimizer = model.compiled->optimizer, .outputs = model.compiled->given},
                    .trained = {.variables = model.trainable}};
  for (const Layer& layer : layers_of(saved)) add_trained(layer, training.trained.in_keras_order);
  return training;
}

/// Of a model that was built from a file and has yet to be compiled.
std::optional<Training> read_training(const nlohmann::ordered_json& config, const Model& model,
                                      const std::vector<SavedLayer>& layers, const LoadOptions& options) {
  if (!options.compile || !config.contains("compile_config")) return {};
  std::optional<CompileConfig> compiled = read_compile_config(config["compile_config"], model.network().output_names(),
                                                              {.custom = options.custom_objects,
                                                               .optimizer = options.optimizer,
                                                               .loss = options.loss,
                                                               .metrics = options.metrics,
                                                               .on_unknown_metric = options.on_unknown_metric});
  if (!compiled) return {};
  Training training{.config = std::move(*compiled), .trained = {.variables = model.trainable_variables()}};
  for (const SavedLayer& saved : layers) add_trained(saved.layer, training.trained.in_keras_order);
  return training;
}

/// Before memory is taken for them: a short file can describe any number of weights.
void limit_weights(const std::vector<SavedLayer>& layers, const std::string& path) {
  constexpr std::uintmax_t smallest_weight = 2;  // bytes
  const std::uintmax_t most = std::filesystem::file_size(path) * best_ratio_of_deflate / smallest_weight;
  for (const SavedLayer& saved : layers) saved.layer.impl().limit_params(static_cast<std::int64_t>(most));
}

}  // namespace

void Model::save(const std::string& path) const {
  const Format& format = format_of(path);
  check_outside_replica("save_model");
  const State& saved = state_->saved();
  const NestedModel model = saved_keras_model(saved.network, saved.name);
  format.save(saved.network, model, training_of(state_->compiled ? *state_ : saved, model), path);
}

void save_model(const Model& model, const std::string& path) { model.save(path); }

Model load_model(const std::string& path, const LoadOptions& options) {
  const Format& format = format_to_read(path);
  check_outside_replica("load_model");
  try {
    const nlohmann::ordered_json config = format.read_config(path);
    const SymbolicModel symbolic = model_from_config(config);
    limit_weights(symbolic.layers, path);
    Model model(symbolic.inputs, symbolic.outputs, {.name = symbolic.name, .seed = options.seed});
    std::optional<Training> training = read_training(config, model, symbolic.layers, options);
    std::optional<Training> without_state;
    format.read_weights(path, symbolic.layers, options.optimizer ? without_state : training);
    if (training) model.compile(training->config.optimizer, training->config.outputs);
    return model;
  } catch (InputError& error) {
    if (!std::string_view(error.what()).starts_with(path)) error.add_context(path);
    throw;
  } catch (const InvalidArgument& error) {  // what the model's parts refuse
    fail<InputError>("{}: {}", path, error.what());
  }
}

}  // namespace lockstep
