#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/training/callbacks/monitor.h>

namespace lockstep {

/// ModelCheckpoint's options, with Keras' names and defaults.
struct ModelCheckpointOptions {
  /// Name of the monitored value in the logs.
  std::string monitor = "val_loss";
  /// Saves only when the monitored value has improved. If the value is missing, saves as long as there is no best value
  /// yet.
  bool save_best_only = false;
  /// Whether a lower or a higher value is better.
  MonitorMode mode = MonitorMode::automatic;
  std::optional<std::int64_t> save_freq{};          ///< saves after every N steps; by default after each epoch
  std::optional<double> initial_value_threshold{};  ///< for save_best_only: the best value at the start
};

/// Saves the model, or its weights alone, after epochs or after a number of steps.
class ModelCheckpoint final : public Callback {
 public:
  /// `filepath` has an extension of weights_formats or, for whole models, of model_formats. It may have replacement
  /// fields: {epoch} and, with save_freq, {batch}, both from 1, and names of logged values, e.g.
  /// "{epoch:02d}-{val_loss:.2f}.weights.h5". Folders are created when needed. Throws InvalidArgument for another
  /// extension and for a save_freq below 1.
  explicit ModelCheckpoint(std::string filepath, const ModelCheckpointOptions& options = {});

  /// With save_best_only, throws the errors of Monitor::resolve. If `filepath` is for whole models, also throws the
  /// errors of Model::check_can_be_saved.
  void on_train_begin(Model& model) override;
  void on_epoch_begin(Model& model, const EpochPlan& plan) override;
  /// on_train_batch_end and on_epoch_end throw InvalidArgument if `filepath` has an invalid field or names a value that
  /// is missing, and InputError if the folder or the file cannot be written.
  void on_train_batch_end(Model& model, const StepReport& report) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  CallbackState state() const override;
  /// Restores the best value and the number of steps since the last save.
  void load_state(const CallbackState& state) override;

 private:
  std::string path(const Logs& logs, std::optional<std::int64_t> step_in_epoch) const;
  bool should_save(const Logs& logs);

  std::string filepath_;
  ModelCheckpointOptions options_;
  Monitor monitor_;
  std::optional<double> best_;
  std::int64_t steps_since_save_ = 0;
  int epoch_ = 0;
};

}  // namespace lockstep
