#pragma once

#include <optional>
#include <string>

#include <lockstep/models/training/callbacks/monitor.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Keras' options, names and defaults.
struct ReduceLROnPlateauOptions {
  /// Name of the value in the logs.
  std::string monitor = "val_loss";
  /// What the rate is multiplied by; below 1.
  double factor = 0.1;
  int patience = 10;  ///< epochs without improvement after which the rate is reduced
  /// Which way it gets better.
  MonitorMode mode = MonitorMode::automatic;
  double min_delta = 1e-4;  ///< smallest change that counts
  int cooldown = 0;         ///< epochs after a reduction that are not counted
  /// The rate is not reduced below it.
  double min_lr = 0;
};

/// Multiplies the optimizer's learning rate by `factor` when the monitored value has stopped improving.
class ReduceLROnPlateau final : public Callback {
 public:
  /// Throws InvalidArgument for a factor that is not below 1.
  explicit ReduceLROnPlateau(const ReduceLROnPlateauOptions& options = {});
  /// Of all defaults: ReduceLROnPlateau({}).
  explicit ReduceLROnPlateau(Defaults) : ReduceLROnPlateau() {}

  /// Throws InvalidArgument when the mode is automatic and the model's metrics do not say it.
  void on_train_begin(Model& model) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  CallbackState state() const override;
  /// As Callback::load_state: the best value, and the epochs counted since.
  void load_state(const CallbackState& state) override;

 private:
  void reduce(const Model& model);

  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  int wait_ = 0;
  int cooldown_ = 0;  ///< epochs left of it
  std::optional<double> best_{};
};

}  // namespace lockstep
