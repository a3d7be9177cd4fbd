#pragma once

#include <fstream>
#include <string>
#include <utility>

#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// Writes one JSON object per training step as soon as the step ends, so that the file is usable during training and
/// after a crash. A resumed run keeps the lines of earlier steps.
class StepLog final : public Callback {
 public:
  /// Opens `path` when training begins.
  explicit StepLog(std::string path) : path_(std::move(path)) {}
  bool chief_only() const override { return true; }
  ///@{
  /// Throws InputError when the file cannot be written.
  void on_train_begin(Model& model) override;
  void on_epoch_begin(Model& model, const EpochPlan& plan) override;
  void on_train_batch_end(Model& model, const StepReport& report) override;
  ///@}

 private:
  void open(std::ios::openmode mode);

  std::string path_;
  std::ofstream file_{};
  bool begun_ = false;  ///< the first epoch has begun
};

}  // namespace lockstep::cli
