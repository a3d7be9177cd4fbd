#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include <lockstep/models/training/batch_feed.h>
#include <lockstep/models/training/callback_list.h>
#include <lockstep/models/training/model_state.h>
#include <lockstep/models/training/progbar_logger.h>
#include <lockstep/models/training/seconds_since.h>
#include <lockstep/models/training/tensor_rows.h>
#include <lockstep/models/training/train_step.h>
#include <lockstep/models/training/training_progress.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/strategies/verify.h>

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

/// Calls `function`, and names the validation in its errors.
auto in_validation(const auto& function) {
  try {
    return function();
  } catch (Error& error) {
    error.add_context("fit()'s validation");
    throw;
  }
}

/// FitOptions::callbacks and, if `verbose` and they have none, a ProgbarLogger.
std::vector<std::shared_ptr<Callback>> callbacks_of(const FitOptions& options) {
  std::vector<std::shared_ptr<Callback>> callbacks = options.callbacks;
  const bool has_logger = std::ranges::any_of(
      callbacks, [](const auto& callback) { return dynamic_cast<const ProgbarLogger*>(callback.get()) != nullptr; });
  if (shows_progress(options.verbose) && !has_logger)
    callbacks.push_back(std::make_shared<ProgbarLogger>("", options.verbose));
  return callbacks;
}

/// One call of fit().
class TrainingRun {
 public:
  TrainingRun(Model& model, Model::State& state, const Dataset& batches, const FitOptions& options)
      : model_(model),
        state_(state),
        options_(options),
        callbacks_(model, callbacks_of(options), "fit()"),
        step_(model, state, options.class_weight, "fit()"),
        feed_(model.strategy(), batches, std::max(state.next_pass, static_cast<std::uint64_t>(options.initial_epoch)),
              options.steps_per_epoch, options.distribute),
        progress_{.epoch = options.initial_epoch, .callbacks = options.callbacks},
        workers_(model.strategy().state()->cluster()),
        is_chief_(model.strategy().is_chief()) {
    if (options.cuda_graphs) step_.use_graphs();
    if (options.validation) check_validation(*options.validation);
  }

  History run();

 private:
  /// Throws what can be known before training about validation data that cannot be evaluated: LogicError for a model
  /// without an evaluation, InvalidArgument for data that are empty, or endless without validation_steps, or whose
  /// first batch lacks a target, if an epoch validates and the batch can be peeked at.
  void check_validation(const Dataset& validation) const;
  /// Whether a callback has requested a stop on any worker. All workers get the same answer, which is stored in
  /// `stop_`.
  bool stopped();
  /// Lets the callbacks restore a run that is to be resumed.
  void restore();
  /// Runs the rest of an epoch. Returns false if training stopped within it.
  bool run_epoch();
  void begin_epoch();
  /// Runs a step. Returns false if the epoch has no more steps.
  bool run_step();
  /// Whether fit validates after any of the epochs [begin, end).
  bool validates(int begin, int end) const;
  Logs epoch_logs(std::int64_t examples, double seconds, bool validate) const;
  Logs validation_logs() const;

  Model& model_;
  Model::State& state_;
  const FitOptions& options_;
  CallbackList callbacks_;
  TrainStep step_;
  BatchFeed feed_;
  TrainingProgress progress_;
  Cluster* workers_;  ///< null if there is only one worker
  bool is_chief_;
  StopRequest stop_ = StopRequest::none;
  bool warned_of_loss_ = false;
  bool resumed_ = false;  ///< whether the next epoch is the one in which an earlier run stopped
};

void TrainingRun::check_validation(const Dataset& validation) const {
  const Model::State::Compiled& compiled = state_.require_evaluation("validation");
  require(validation.size() != 0, "fit()'s `validation` is an empty data set");
  require(!validation.is_endless() || options_.validation_steps,
          "fit()'s `validation` is a data set without end: give validation_steps, or use take() to limit it");
  if (compiled.steps.test_step || !validates(options_.initial_epoch, options_.epochs)) return;
  in_validation([&] {
    const Dataset rows = validation.rows_of_batches([](std::int64_t) { return RowRange{0, 1}; }).value_or(validation);
    const auto peek = [&] { return rows.peek(); };
    if (const std::optional<Batch> first = notify_on_failure(workers_, peek)) check_targets(*first, compiled.outputs);
  });
}

bool TrainingRun::stopped() {
  stop_ = state_.stop;
  if (workers_) {
    const std::array own{static_cast<double>(stop_)};
    for (const std::vector<double>& other : gather_numbers(*workers_, "the question whether to stop", own))
      stop_ = std::max(stop_, static_cast<StopRequest>(other.front()));
  }
  return stop_ != StopRequest::none;
}

History TrainingRun::run() {
  state_.stop = StopRequest::none;
  callbacks_.notify(&Callback::on_train_begin);
  restore();
  step_.prepare_optimizer();
  bool whole = true;
  while (whole && progress_.epoch < options_.epochs && !stopped()) whole = run_epoch();
  if (whole && stop_ == StopRequest::at_once) callbacks_.notify(&Callback::on_stop, progress_);
  step_.compiled().optimizer.finalize_variable_values();
  callbacks_.notify(&Callback::on_train_end);
  return std::move(progress_.history);
}

void TrainingRun::restore() {
  callbacks_.notify(&Callback::restore, progress_);
  resumed_ = progress_.steps > 0;
  if (!resumed_) return;
  state_.next_pass = std::max(state_.next_pass, progress_.position.pass + 1);
  callbacks_.notify(&Callback::on_resume);
}

void TrainingRun::begin_epoch() {
  callbacks_.notify(&Callback::on_epoch_begin, EpochPlan{.epoch = progress_.epoch,
                                                         .epochs = options_.epochs,
                                                         .steps = feed_.steps_in_epoch(),
                                                         .steps_done = progress_.steps_in_epoch,
                                                         .first_step = progress_.steps,
                                                         .validation = options_.validation.has_value(),
                                                         .resumed = resumed_});
  if (std::exchange(resumed_, false))
    feed_.resume_epoch(progress_.steps_in_epoch, progress_.totals.examples, progress_.position);
  else
    feed_.begin_epoch();
}

bool TrainingRun::run_epoch() {
  begin_epoch();
  const std::int64_t examples_before = progress_.totals.examples;
  const Clock::time_point start = Clock::now();
  while (!stopped() && run_step()) {
  }
  const bool whole = stop_ == StopRequest::none;
  const bool ends = stop_ != StopRequest::at_once;
  if (!whole) callbacks_.notify(&Callback::on_stop, progress_);
  const Logs logs = epoch_logs(progress_.totals.examples - examples_before, seconds_since(start), ends);
  progress_.history.epoch.push_back(progress_.epoch);
  for (const auto& [name, value] : logs) progress_.history.values[name].push_back(value);
  if (ends) callbacks_.notify(&Callback::on_epoch_end, progress_.epoch, logs);
  if (!whole) return false;  // a run that resumes here must finish the epoch
  ++progress_.epoch;
  progress_.steps_in_epoch = 0;
  progress_.totals = {};
  callbacks_.notify(&Callback::backup, progress_);
  return true;
}

bool TrainingRun::run_step() {
  const Clock::time_point start = Clock::now();
  StepClock::take();
  const std::optional<DistributedBatch> batch = feed_.next();
  if (!batch) return false;
  state_.next_pass = feed_.position().pass + 1;
  const double input_ms = StepClock::take()[static_cast<std::size_t>(Phase::input)];
  callbacks_.notify(&Callback::on_train_batch_begin, progress_.steps_in_epoch);

  StepResults results = step_.run(*batch, progress_.steps == 0);
  const Totals& totals = results.totals;
  progress_.totals += totals;
  progress_.position = feed_.position();

  StepReport report{.step = progress_.steps++,
                    .step_in_epoch = progress_.steps_in_epoch++,
                    .loss = totals.mean_loss(),
                    .learning_rate = step_.compiled().optimizer.learning_rate(),
                    .examples = totals.examples,
                    .rows = std::move(results.rows),
                    .step_ms = 1e3 * seconds_since(start),
                    .host_ms = std::chrono::duration<double, std::milli>(results.submitted - start).count(),
                    .split_ms = results.split_ms,
                    .running = progress_.totals.results(step_.compiled().outputs)};
  report.split_ms[static_cast<std::size_t>(Phase::input)] = input_ms;
  if (is_chief_ && !std::isfinite(report.loss) && !std::exchange(warned_of_loss_, true))
    log_warning(
        "the loss of step {} is {}: a lower learning rate or global_clipnorm may help; TerminateOnNaN ends "
        "such a training, and check_numerics() names the gradient",
        report.step, report.loss);
  callbacks_.notify(&Callback::on_train_batch_end, report);
  // At the end of the step, because the next update would overwrite different copies with equal values.
  if (options_.verify_every > 0 && progress_.steps % options_.verify_every == 0)
    verify_mirrored(model_.variables(), workers_);
  callbacks_.notify(&Callback::backup, progress_);
  return true;
}

bool TrainingRun::validates(int begin, int end) const {
  if (!options_.validation) return false;
  if (const int* const every = std::get_if<int>(&options_.validation_freq)) return end / *every > begin / *every;
  return std::ranges::any_of(std::get<std::vector<int>>(options_.validation_freq),
                             [=](int number) { return number > begin && number <= end; });
}

Logs TrainingRun::epoch_logs(std::int64_t examples, double seconds, bool validate) const {
  Logs logs = progress_.totals.results(step_.compiled().outputs);
  logs["learning_rate"] = step_.compiled().optimizer.learning_rate();
  logs["epoch_s"] = seconds;
  logs["examples_per_s"] = static_cast<double>(examples) / seconds;
  if (validate && validates(progress_.epoch, progress_.epoch + 1))
    for (const auto& [name, value] : validation_logs()) logs["val_" + name] = value;
  return logs;
}

Logs TrainingRun::validation_logs() const {
  return in_validation([&] {
    return model_.evaluate(*options_.validation,
                           {.steps = options_.validation_steps, .verbose = 0, .callbacks = callbacks_.all()});
  });
}

/// Throws InvalidArgument for options out of their range.
void check(const FitOptions& options) {
  require(options.epochs >= 1 && options.initial_epoch >= 0,
          "fit() needs epochs >= 1 and initial_epoch >= 0, got {} and {}", options.epochs, options.initial_epoch);
  require(options.verify_every >= 0, "verify_every must not be negative, got {}", options.verify_every);
  const int* const every = std::get_if<int>(&options.validation_freq);
  require(!every || *every >= 1, "validation_freq must be at least 1, got {}", every ? *every : 1);
  require(options.validation_steps.value_or(1) >= 1, "validation_steps must be at least 1, got {}",
          options.validation_steps.value_or(1));
}

}  // namespace

History Model::fit(const Dataset& batches, const FitOptions& options) {
  check(options);
  require(!options.batch_size, "batch_size is for tensors: a data set is batched with batch()");
  require(options.validation_split == 0,
          "validation_split is for tensors: split a data set with take() and skip() before its shuffle, and give one "
          "part as `validation`");
  return TrainingRun(*this, *state_, batches, options).run();
}

History Model::fit(const Batch& data, const FitOptions& options) {
  FitOptions others = options;
  const std::int64_t batch_size = std::exchange(others.batch_size, {}).value_or(default_batch_size);
  const double split = std::exchange(others.validation_split, 0);
  const Batch dense = dense_on_host(data);
  Dataset train = Dataset::from_tensors(dense);
  if (split != 0) {
    require(!options.validation, "fit() takes validation or validation_split, got both");
    require(split > 0 && split < 1, "validation_split must be between 0 and 1, got {}", split);
    const auto kept = static_cast<std::int64_t>(static_cast<double>(data.size()) * (1 - split));
    require(kept > 0, "a validation_split of {} leaves none of {} example(s) to train on", split, data.size());
    require(kept < data.size(), "a validation_split of {} leaves none of {} example(s) to validate with", split,
            data.size());
    const auto rows = [&](std::int64_t begin, std::int64_t end) {
      return Dataset::from_tensors(dense.each([&](const Tensor& tensor) { return tensor.slice_view(0, begin, end); }));
    };
    train = rows(0, kept);
    others.validation = rows(kept, data.size()).batch(batch_size);
  }
  if (options.shuffle) train = train.shuffle();
  return fit(train.batch(batch_size), others);
}

}  // namespace lockstep
