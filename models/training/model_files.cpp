#include "lockstep/models/training/model_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

#include <lockstep/models/files/deflate.h>
#include <lockstep/models/files/json_text.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/metrics/metric_config.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/optimizer_variables.h>
#include <lockstep/models/serialization/symbolic_model.h>
#include <lockstep/models/training/model_state.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/strategy/core/creator.h>

namespace lockstep {
namespace {

/// The format for the extension. Throws InvalidArgument for an unknown extension.
const ModelFormat& format_of(const std::string& path) {
  const ModelFormat* const format = model_format_of(path);
  require(format != nullptr, "{}: the extension of a model's file says its format: {}", path, model_extensions());
  return *format;
}

/// The format that the contents have or, if they are not recognized, the format for the extension.
const ModelFormat& format_to_read(const std::string& path) {
  const ModelFormat& named = format_of(path);
  const auto is_of = [&](const ModelFormat* format) { return format->recognizes && format->recognizes(path); };
  const auto found = std::ranges::find_if(model_formats, is_of);
  return found == model_formats.end() ? named : **found;
}

void add_trained(const Layer& layer, std::vector<Variable>& variables) {
  for (const Variable& variable : layer.impl().variables())
    if (variable.trainable()) variables.push_back(variable);
}

/// The training state of a compiled model that is saved as `saved`; nullopt if the model is not compiled or has a
/// train_step.
std::optional<Training> training_of(const Model::State& model, const NestedModel& saved) {
  if (!model.compiled) return {};
  if (model.compiled->steps.train_step) {
    if (model.compiled->optimizer.iterations() > 0 && model.network.strategy().is_chief())
      log_warning("'{}' is saved without its optimizer: files do not hold a train_step", model.name);
    return {};
  }
  if (model.network.strategy().is_chief())
    for (const OutputTraining& output : model.compiled->given) {
      warn_of_lost_names(output.metrics, output.loss);
      warn_of_lost_names(output.weighted_metrics, output.loss);
    }
  Training training{.config = {.optimizer = model.compiled->optimizer, .outputs = model.compiled->given},
                    .trained = {.variables = model.network.trainable_variables()}};
  if (training.trained.variables != model.compiled->trainable) {
    if (model.compiled->optimizer.iterations() > 0 && model.network.strategy().is_chief())
      log_warning("'{}' is saved without the state of its optimizer: layers have been frozen or thawed since compile()",
                  model.name);
    training.config.optimizer = optimizer_from_config(model.compiled->optimizer.config());
  }
  for (const Layer& layer : layers_of(saved)) add_trained(layer, training.trained.in_keras_order);
  return training;
}

/// The training state in a file, for a model that was built from the file and is not yet compiled.
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

/// Throws before memory is allocated for more weights than the file can hold, because a short file can describe a model
/// of any size.
VariableCreator limited_by(const std::string& path) {
  constexpr std::uintmax_t smallest_weight = 2;  // bytes
  const std::uintmax_t most = std::filesystem::file_size(path) * best_ratio_of_deflate / smallest_weight;
  return [left = static_cast<std::int64_t>(most)](const VariableMaker& next, VariableSpec spec) mutable {
    require<InputError>(spec.shape.elements() <= left,
                        "layer '{}': its weight '{}' is {}, which is more than the file can hold",
                        spec.name.substr(0, spec.name.rfind('/')), spec.name, spec.shape);
    left -= spec.shape.elements();
    return next(std::move(spec));
  };
}

}  // namespace

void Model::save(const std::string& path) const {
  const ModelFormat& format = format_of(path);
  check_outside_replica("save_model");
  const State& saved = state_->saved();
  const NestedModel model = saved_keras_model(saved.network, saved.name);
  const std::vector<std::byte> contents =
      format.contents(saved.network, model, training_of(state_->compiled ? *state_ : saved, model));
  on_all_workers(saved.network.strategy(), [&] {
    if (saved.network.strategy().is_chief()) write_file_atomically(path, contents);
  });
}

void Model::check_can_be_saved(const std::string& path) const {
  const ConfigForm form = format_of(path).form;
  const State& saved = state_->saved();
  json_text(network_config(with_file_names(saved_keras_model(saved.network, saved.name), form), form));
  for (const Variable& variable : saved.network.variables()) check_is_f32(variable, keras_files);
  const std::optional<State::Compiled>& compiled = (state_->compiled ? *state_ : saved).compiled;
  if (compiled && !compiled->steps.train_step) json_text(compile_config({compiled->optimizer, compiled->given}, form));
}

void save_model(const Model& model, const std::string& path) { model.save(path); }

Model load_model(const std::string& path, const LoadOptions& options) {
  const ModelFormat& format = format_to_read(path);
  check_outside_replica("load_model");
  try {
    nlohmann::ordered_json config;
    on_all_workers(get_strategy(), [&] { config = format.read_config(path); });
    const SymbolicModel symbolic = model_from_config(config);
    Model model = [&] {
      const VariableCreatorScope scope(limited_by(path));
      return Model(symbolic.inputs, symbolic.outputs, {.name = symbolic.name, .seed = options.seed});
    }();
    std::optional<Training> training = read_training(config, model, symbolic.layers, options);
    std::optional<Training> without_state;
    on_all_workers(model.strategy(), [&] {
      format.read_weights(path, config, symbolic.layers, options.optimizer ? without_state : training);
    });
    if (training) model.compile(training->config.optimizer, training->config.outputs);
    return model;
  } catch (InputError& error) {
    if (std::string_view(error.what()).find(path) == std::string_view::npos) error.add_context(path);
    throw;
  } catch (const InvalidArgument& error) {  // thrown by the model's parts
    fail<InputError>("{}: {}", path, error.what());
  }
}

}  // namespace lockstep
