#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <lockstep/runtime/trace/step_clock.h>

namespace lockstep {

class Model;

/// Values by name, in the order of the names: "accuracy", "loss", "val_accuracy", ...
using Logs = std::map<std::string, double>;

/// What is known after a training step.
struct StepReport {
  std::int64_t step = 0;  ///< from 0, over all epochs
  /// From 0.
  std::int64_t step_in_epoch = 0;
  double loss = 0;  ///< of this step
  /// As the optimizer has it after the step.
  double learning_rate = 0;
  /// Of the global batch.
  std::int64_t examples = 0;
  std::vector<std::int64_t> rows{};  ///< the examples of each replica
  /// From the wait for the batch to the end of its step.
  double step_ms = 0;
  StepClock::Split split_ms{};  ///< input: of the caller's thread; the others: of replica 0's
  Logs running{};               ///< means since the epoch's start
};

/// What an epoch is announced with.
struct EpochPlan {
  /// From 0.
  int epoch = 0;
  /// The number of the last one, from 1.
  int epochs = 0;
  std::int64_t steps = 0;  ///< of this epoch
};

/// Is told of fit's progress, on the caller's thread. An exception that it throws ends fit and reaches the caller.
class Callback {
 public:
  virtual ~Callback() = default;
  /// Before the first epoch.
  virtual void on_train_begin(Model&) {}
  /// Before the first step of an epoch.
  virtual void on_epoch_begin(Model&, const EpochPlan&) {}
  /// After every step, on all replicas.
  virtual void on_step_end(Model&, const StepReport&) {}
  /// `logs` holds the epoch's means, the validation's as val_..., learning_rate, and epoch_s and examples_per_s of the
  /// training steps alone.
  virtual void on_epoch_end(Model&, int /*epoch*/, const Logs& /*logs*/) {}
  /// After the last epoch; not when an exception has ended fit.
  virtual void on_train_end(Model&) {}
};

}  // namespace lockstep
