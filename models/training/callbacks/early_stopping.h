#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/training/callbacks/monitor.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// EarlyStopping's options, with Keras' names and defaults.
struct EarlyStoppingOptions {
  /// Name of the value in the logs.
  std::string monitor = "val_loss";
  double min_delta = 0;  ///< only larger changes count as improvements
  int patience = 0;      ///< number of epochs without improvement after which training stops, but never after epoch 0
  /// Whether a lower or a higher value is better.
  MonitorMode mode = MonitorMode::automatic;
  std::optional<double> baseline{};  ///< only values better than this one reset the count of epochs without improvement
  bool restore_best_weights = false;  ///< sets the best epoch's weights at the end, even if no value beat `baseline`
  int start_from_epoch = 0;           ///< earlier epochs are ignored
};

/// Stops training when the monitored value has stopped improving.
class EarlyStopping final : public Callback {
 public:
  /// Does not check the options.
  explicit EarlyStopping(const EarlyStoppingOptions& options = {});
  /// Makes `EarlyStopping({})` use the default options.
  explicit EarlyStopping(Defaults) : EarlyStopping() {}

  /// Throws the errors of Monitor::resolve.
  void on_train_begin(Model& model) override;
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override;
  void on_train_end(Model& model) override;
  /// Stops the run again if EarlyStopping had stopped it before the backup, unless `patience` has been raised since.
  void on_resume(Model& model) override;
  CallbackState state() const override;
  /// Restores the best value and weights, the number of epochs without improvement and stopped_epoch().
  void load_state(const CallbackState& state) override;

  /// The epoch, from 0, after which training was stopped; 0 when it was not, as in Keras.
  int stopped_epoch() const { return stopped_epoch_; }

 private:
  EarlyStoppingOptions options_;
  Monitor monitor_;
  int wait_ = 0;
  int stopped_epoch_ = 0;
  std::optional<double> best_{};
  std::vector<Tensor> best_weights_{};
};

}  // namespace lockstep
