#pragma once

#include <functional>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// Returns the learning rate for epoch number `epoch`, from 0, given the current rate.
using EpochSchedule = std::function<double(int epoch, double current)>;

/// Sets the optimizer's learning rate at the start of each epoch, but not when a run resumes within an epoch.
class LearningRateScheduler final : public Callback {
 public:
  /// Throws InvalidArgument for an empty function.
  explicit LearningRateScheduler(EpochSchedule schedule);
  /// Throws the same errors as Optimizer::set_learning_rate.
  void on_epoch_begin(Model& model, const EpochPlan& plan) override;

 private:
  EpochSchedule schedule_;
};

/// initial * max(0, 1 - epoch / epochs)^power: Caffe's polynomial decay; power 1 is a straight line to 0. Throws
/// InvalidArgument for epochs < 1.
EpochSchedule poly_decay(double initial, int epochs, double power = 1.0);

}  // namespace lockstep
