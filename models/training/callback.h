#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/runtime/trace/step_clock.h>

namespace lockstep {

class Model;

/// Values by name, in the order of the names: "accuracy", "loss", "val_accuracy", ...
using Logs = std::map<std::string, double>;

/// The result of a training step.
struct StepReport {
  std::int64_t step = 0;  ///< number of the step over all epochs, from 0
  /// Number of the step in its epoch, from 0.
  std::int64_t step_in_epoch = 0;
  double loss = 0;  ///< mean over the step's global batch
  /// The optimizer's learning rate after the step.
  double learning_rate = 0;
  /// Examples in the global batch.
  std::int64_t examples = 0;
  std::vector<std::int64_t> rows{};  ///< examples of each replica, for the replicas of all workers
  /// Milliseconds from the request for the batch to the end of the step, including on_train_batch_begin of the
  /// callbacks.
  double step_ms = 0;
  /// The part of step_ms that ends when this worker's first replica has submitted the forward pass, the backward pass
  /// and the update to its device. The rest of step_ms is spent on metrics and on waiting for the results.
  double host_ms = 0;
  StepClock::Split split_ms{};  ///< by phase: Phase::input on fit's thread, others on this worker's first replica
  Logs running{};               ///< losses and metrics since the start of the epoch
};

/// An epoch that is about to begin.
struct EpochPlan {
  /// Number of the epoch, from 0.
  int epoch = 0;
  /// FitOptions::epochs.
  int epochs = 0;
  std::int64_t steps = 0;       ///< number of steps; 0 if unknown, for a generator without a size
  std::int64_t steps_done = 0;  ///< steps of the epoch that were done before the run was resumed
  std::int64_t first_step = 0;  ///< number, over all epochs, of this epoch's next step
  bool validation = false;      ///< whether there is validation data, even if this epoch does not use it
  bool resumed = false;         ///< whether this is the first epoch of a run that resumes an earlier one
};

/// The result of a batch of evaluate or of fit's validation, valid during the call of the event.
struct TestBatchReport {
  std::int64_t batch = 0;     ///< number of the batch, from 0
  std::int64_t examples = 0;  ///< examples in the global batch
  /// Computes the losses and metrics since the first batch. With several workers, they cover only the examples of this
  /// worker's replicas, because combining the workers' values would take a collective for each batch. They are empty
  /// until these replicas have had an example. on_test_end gets the values over all workers.
  std::function<Logs()> running{};
};

/// The result of a batch of predict, valid during the call of the event.
struct PredictBatchReport {
  std::int64_t batch = 0;     ///< number of the batch, from 0
  std::int64_t examples = 0;  ///< examples in the global batch
  /// Collects the model's outputs for the global batch, (examples, ...) each, floating-point numbers in f32. They may
  /// share memory with the inputs and with predict's result: do not write to them.
  std::function<std::vector<Tensor>()> outputs{};
};

/// The state of a callback that a backup of the run keeps.
struct CallbackState {
  ///@{
  /// The callback chooses the names of the values and the order of the tensors. Tensors are stored as f32.
  Logs values{};
  std::vector<Tensor> tensors{};
  ///@}

  /// Whether there is no state to keep.
  bool empty() const { return values.empty() && tensors.empty(); }
};

struct TrainingProgress;

/// fit, evaluate and predict call these functions in Keras' order, on the thread that called fit, evaluate or predict.
/// An exception that a callback throws ends fit, evaluate or predict and reaches the caller. With several workers, the
/// current or next collective of the other workers then throws WorkerFailed, which names the worker and the exception,
/// and the strategy cannot be used any more. This also holds if every worker throws the same error by itself, e.g. for
/// a monitor that does not exist. The strategy stays usable only if a collective, e.g. Checkpoint::write, has thrown
/// the error on all workers.
class Callback {
 public:
  virtual ~Callback() = default;
  /// Whether, with several workers, this callback is called on the chief only. Return true for a callback that only
  /// writes or prints, and does not read variables. Other callbacks are called on all workers and must do the same on
  /// each.
  virtual bool chief_only() const { return false; }
  /// Called before the first epoch.
  virtual void on_train_begin(Model&) {}
  /// Called before the first step of an epoch.
  virtual void on_epoch_begin(Model&, const EpochPlan&) {}
  /// Called before every step, after its batch has been read. `batch` is the number of the step in its epoch, from 0.
  virtual void on_train_batch_begin(Model&, std::int64_t /*batch*/) {}
  /// Called after every step, when all replicas have finished it.
  virtual void on_train_batch_end(Model&, const StepReport&) {}
  /// Called after an epoch and its validation. `logs` has the losses and metrics over the epoch, the validation's
  /// losses and metrics as val_..., learning_rate, and epoch_s and examples_per_s, which count the training steps only.
  /// With several workers, all get the same values, except epoch_s and examples_per_s, which each worker measures
  /// itself.
  virtual void on_epoch_end(Model&, int /*epoch*/, const Logs& /*logs*/) {}
  /// Called after the last epoch, unless an exception has ended fit.
  virtual void on_train_end(Model&) {}

  ///@{
  /// Called by evaluate and by fit's validation: before the first batch; before and after each batch, from number 0;
  /// after the last batch, with the losses and metrics over all examples of all workers.
  virtual void on_test_begin(Model&) {}
  virtual void on_test_batch_begin(Model&, std::int64_t /*batch*/) {}
  virtual void on_test_batch_end(Model&, const TestBatchReport&) {}
  virtual void on_test_end(Model&, const Logs& /*logs*/) {}
  ///@}
  ///@{
  /// Called by predict: before the first batch; before and after each batch, from number 0; after the last batch.
  virtual void on_predict_begin(Model&) {}
  virtual void on_predict_batch_begin(Model&, std::int64_t /*batch*/) {}
  virtual void on_predict_batch_end(Model&, const PredictBatchReport&) {}
  virtual void on_predict_end(Model&) {}
  ///@}

  ///@{
  /// The state that a run needs to resume from a backup as if it had not been interrupted; empty if there is none. A
  /// run that resumes passes it to `load_state` after all calls of on_train_begin. If `load_state` throws
  /// std::out_of_range, as Logs::at does for a missing value, fit throws InputError: the backup belongs to other
  /// callbacks. Other exceptions of `load_state` reach the caller of fit.
  virtual CallbackState state() const { return {}; }
  virtual void load_state(const CallbackState&) {}
  ///@}
  /// Called after all calls of on_train_begin. May set `progress` to the progress of an earlier run.
  virtual void restore(Model&, TrainingProgress& /*progress*/) {}
  /// Called after `restore` has resumed an earlier run, before its next epoch. A call of Model::stop_training here ends
  /// the run.
  virtual void on_resume(Model&) {}
  /// Called after each step and each whole epoch, after on_train_batch_end or on_epoch_end of all callbacks.
  virtual void backup(Model&, const TrainingProgress& /*progress*/) {}
  /// Called when training stops within an epoch, after the current step and before on_epoch_end. After
  /// Model::interrupt_training, on_epoch_end is not called. Also called if interrupt_training ends a run between two
  /// epochs or before its first one.
  virtual void on_stop(Model&, const TrainingProgress& /*progress*/) {}
};

}  // namespace lockstep
