#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/training/callbacks/monitor.h>

namespace lockstep {

/// Keras' options, names and defaults.
struct ModelCheckpointOptions {
  /// Name of the value in the logs.
  std::string monitor = "val_loss";
  /// Saves only when the monitored value has improved. Where the value is missing, a file is written until there is a
  /// best one.
  bool save_best_only = false;
  /// Which way it gets better.
  MonitorMode mode = MonitorMode::automatic;
  std::optional<std::int64_t> save_freq{};          ///< saves after every N steps; by default after each epoch
  std::optional<double> initial_value_threshold{};  ///< what the first value has to improve on
};

/// Saves the model's weights.
class ModelCheckpoint final : public Callback {
 public:
  /// `filepath` has an extension of weights_formats; in it {epoch} and, with save_freq, {batch} stand for their numbers
  /// from 1, the name of a value for the value: "{epoch:02d}-{val_loss:.2f}.weights.h5". Folders are made as needed.
  /// Throws InvalidArgument for another extension, or a save_freq below 1.
  explicit ModelCheckpoint(std::string filepath, const ModelCheckpointOptions& options = {});

  /// Throws InvalidArgument when the mode is needed, automatic, and the model's metrics do not say it.
  void on_train_begin(Model& model) override;
  void on_epoch_begin(Model& model, const EpochPlan& plan) override;
  /// These throw InvalidArgument for a path that names a value which is not there, InputError for one that cannot be
  /// written.
  void on_step_end(Model& model, const StepReport& report) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  CallbackState state() const override;
  /// As Callback::load_state: the best value, and the steps since the last saving.
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
