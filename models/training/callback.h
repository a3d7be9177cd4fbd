#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>
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
  /// Of step_ms: until replica 0 has given its device the whole step and begins to wait for the results.
  double host_ms = 0;
  StepClock::Split split_ms{};  ///< input: of the caller's thread; the others: of replica 0's
  Logs running{};               ///< means since the epoch's start
};

/// What an epoch is announced with.
struct EpochPlan {
  /// From 0.
  int epoch = 0;
  /// The number of the last one, from 1.
  int epochs = 0;
  std::int64_t steps = 0;       ///< of this epoch; 0 when it is not known before a generator ends
  std::int64_t steps_done = 0;  ///< of them, in an earlier run that this one resumes
  std::int64_t first_step = 0;  ///< number of its next step, over all epochs
  bool resumed = false;         ///< whether the run resumes an earlier one with this epoch
};

/// What a callback knows besides its options, as a backup of the run keeps it.
struct CallbackState {
  ///@{
  /// By names, and in an order, of the callback's own.
  Logs values{};
  std::vector<Tensor> tensors{};
  ///@}

  /// Whether there is nothing to be kept.
  bool empty() const { return values.empty() && tensors.empty(); }
};

struct TrainingProgress;

/// Called by fit, on the caller's thread. An exception that it throws ends fit and reaches the caller.
class Callback {
 public:
  virtual ~Callback() = default;
  /// With several workers: whether it is called on the chief alone, for callbacks that write or print and read
  /// no variable. The others are called on all workers, and have to do the same there.
  virtual bool chief_only() const { return false; }
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

  ///@{
  /// For runs that resume from a backup: the state that makes them act as one run. Empty for callbacks that
  /// have none; `load_state` is called after every on_train_begin, with what `state` gave.
  virtual CallbackState state() const { return {}; }
  virtual void load_state(const CallbackState&) {}
  ///@}
  /// Called after every on_train_begin, and may set `progress` to where an earlier run was.
  virtual void restore(Model&, TrainingProgress& /*progress*/) {}
  /// Called when `restore` has resumed an earlier run, before its next epoch; Model::stop_training then ends it.
  virtual void on_resume(Model&) {}
  /// Called after each step and each whole epoch, after the other callbacks' calls.
  virtual void backup(Model&, const TrainingProgress& /*progress*/) {}
  /// Called when training has been stopped within an epoch, after the step in hand and before on_epoch_end, which does
  /// not follow after Model::interrupt_training.
  virtual void on_stop(Model&, const TrainingProgress& /*progress*/) {}
};

}  // namespace lockstep
