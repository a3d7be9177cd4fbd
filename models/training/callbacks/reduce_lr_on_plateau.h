#pragma once

#include <optional>
#include <string>

#include <lockstep/models/training/callbacks/monitor.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// ReduceLROnPlateau's options, with Keras' names and defaults.
struct ReduceLROnPlateauOptions {
  /// Name of the monitored value in the logs.
  std::string monitor = "val_loss";
  /// The factor by which the learning rate is multiplied; below 1.
  double factor = 0.1;
  int patience = 10;  ///< number of epochs without improvement after which the rate is reduced
  /// Whether a lower or a higher value is better.
  MonitorMode mode = MonitorMode::automatic;
  double min_delta = 1e-4;  ///< only larger changes count as improvements
  int cooldown = 0;         ///< the first `cooldown` - 1 epochs after a reduction do not count for `patience`
  /// Lower limit of the learning rate.
  double min_lr = 0;
};

/// Multiplies the optimizer's learning rate by `factor`, down to min_lr, when the monitored value has stopped
/// improving.
class ReduceLROnPlateau final : public Callback {
 public:
  /// Throws InvalidArgument unless factor < 1.
  explicit ReduceLROnPlateau(const ReduceLROnPlateauOptions& options = {});
  /// Makes `ReduceLROnPlateau({})` use the default options.
  explicit ReduceLROnPlateau(Defaults) : ReduceLROnPlateau() {}

  /// Throws the errors of Monitor::resolve.
  void on_train_begin(Model& model) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  CallbackState state() const override;
  /// Restores the best value, the epochs without improvement and the rest of the cooldown.
  void load_state(const CallbackState& state) override;

 private:
  void reduce(const Model& model);

  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  int wait_ = 0;
  int cooldown_ = 0;  ///< epochs left of the cooldown
  std::optional<double> best_{};
};

}  // namespace lockstep
