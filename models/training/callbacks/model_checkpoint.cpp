#include "lockstep/models/training/callbacks/model_checkpoint.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/training/model.h>
#include <lockstep/runtime/core/atomic_file.h>

namespace lockstep {
namespace {

/// Saves what the extension says. Every worker must call it; the chief writes.
void save(const Model& model, const std::string& path) {
  if (model.strategy().is_chief()) make_folder_of(path);
  weights_format_of(path) != nullptr ? model.save_weights(path) : model.save(path);
}

}  // namespace

ModelCheckpoint::ModelCheckpoint(std::string filepath, const ModelCheckpointOptions& options)
    : filepath_(std::move(filepath)),
      options_(options),
      monitor_(options.monitor, options.mode),
      best_(options.initial_value_threshold) {
  require(weights_format_of(filepath_) || model_format_of(filepath_),
          "ModelCheckpoint: the name must end in {}, got {}", all_extensions(), filepath_);
  require(!options.save_freq || *options.save_freq >= 1, "ModelCheckpoint needs a save_freq of at least 1, got {}",
          options.save_freq.value_or(0));
}

void ModelCheckpoint::on_train_begin(Model& model) {
  if (options_.save_best_only) monitor_.resolve(model);
  if (weights_format_of(filepath_) == nullptr) model.check_can_be_saved(filepath_);
}

void ModelCheckpoint::on_epoch_begin(Model&, const EpochPlan& plan) { epoch_ = plan.epoch; }

void ModelCheckpoint::on_train_batch_end(Model& model, const StepReport& report) {
  if (!options_.save_freq || ++steps_since_save_ < *options_.save_freq) return;
  steps_since_save_ = 0;
  const std::string file = path(report.running, report.step_in_epoch);
  if (should_save(report.running)) save(model, file);
}

void ModelCheckpoint::on_epoch_end(Model& model, int, const Logs& logs) {
  if (options_.save_freq) return;
  const std::string file = path(logs, std::nullopt);
  if (should_save(logs)) save(model, file);
}

std::string ModelCheckpoint::path(const Logs& logs, std::optional<std::int64_t> step_in_epoch) const {
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  values.push_back(fmt::arg("epoch", epoch_ + 1));
  if (step_in_epoch) values.push_back(fmt::arg("batch", *step_in_epoch + 1));
  for (const auto& [name, value] : logs) values.push_back(fmt::arg(name.c_str(), value));
  try {
    return fmt::vformat(filepath_, values);
  } catch (const fmt::format_error& error) {
    fail("ModelCheckpoint cannot make a path of {:?}: {}", filepath_, error.what());
  }
}

bool ModelCheckpoint::should_save(const Logs& logs) {
  if (!options_.save_best_only) return true;
  const std::optional<double> current = monitor_.value_in(logs);
  if (!current) return !best_;  // without a value, saves the first file but does not overwrite a best one
  if (!monitor_.is_improvement(*current, best_)) return false;
  best_ = current;
  return true;
}

CallbackState ModelCheckpoint::state() const {
  CallbackState state{.values = {{"steps_since_save", static_cast<double>(steps_since_save_)}}};
  if (best_) state.values["best"] = *best_;
  return state;
}

void ModelCheckpoint::load_state(const CallbackState& state) {
  steps_since_save_ = static_cast<std::int64_t>(state.values.at("steps_since_save"));
  const auto best = state.values.find("best");
  if (best != state.values.end()) best_ = best->second;
}

}  // namespace lockstep
