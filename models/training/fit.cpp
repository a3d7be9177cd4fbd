#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include <lockstep/models/training/batch_feed.h>
#include <lockstep/models/training/model_state.h>
#include <lockstep/models/training/step_graphs.h>
#include <lockstep/models/training/training_progress.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/strategies/verify.h>

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// A replica's result of a training step.
struct ReplicaStep {
  Totals totals{};
  StepClock::Split split_ms{};
  Clock::time_point given{};  ///< time when all of the step's work had been submitted to the device
};

/// One call of fit().
class TrainingRun {
 public:
  TrainingRun(Model& model, Model::State& state, const Dataset& batches, const FitOptions& options)
      : model_(model),
        state_(state),
        compiled_(state.require_compiled("fit()")),
        options_(options),
        compute_(state.network, compiled_.outputs, compiled_.optimizer, state.trainable),
        feed_(model.strategy(), batches, options.steps_per_epoch, options.distribute),
        progress_{.epoch = options.initial_epoch, .callbacks = options.callbacks},
        workers_(model.strategy().state()->cluster()),
        is_chief_(model.strategy().is_chief()) {
    if (options.cuda_graphs) add_graphs();
  }

  History run();

 private:
  template <class... Parameters, class... Args>
  void notify(void (Callback::*event)(Model&, Parameters...), const Args&... args) const {
    for (const auto& callback : options_.callbacks)
      if (is_chief_ || !callback->chief_only()) ((*callback).*event)(model_, args...);
  }
  /// Creates the graphs of all replicas, or logs a warning with the reason why they cannot be used.
  void add_graphs();
  /// Extends the results of this worker's replicas to those of the replicas of all workers.
  void add_other_workers(Totals& totals, std::vector<std::int64_t>& rows) const;
  /// Whether a callback has requested a stop on any worker. All workers get the same answer, which is stored in
  /// `stop_`.
  bool stopped();
  /// Lets the callbacks restore a run that is to be resumed.
  void restore();
  /// Builds the optimizer before the first forward pass, so that activations can reuse memory that moving the weights
  /// has freed.
  void prepare_optimizer() const;
  void run_epoch();
  void begin_epoch();
  /// Runs a step. Returns false if the epoch has no more steps.
  bool run_step();
  ReplicaStep step_on_replica(const Batch& part, std::int64_t global_size);
  Logs epoch_logs(std::int64_t examples, double seconds, bool validate) const;

  Model& model_;
  Model::State& state_;
  const Model::State::Compiled compiled_;
  const FitOptions& options_;
  const StepCompute compute_;
  std::atomic<bool> warned_of_graphs_ = false;
  std::vector<std::unique_ptr<StepGraphs>> graphs_;  ///< by replica; empty if graphs are off or cannot be used
  BatchFeed feed_;
  TrainingProgress progress_;
  Cluster* workers_;  ///< null if there is only one worker
  bool is_chief_;
  StopRequest stop_ = StopRequest::none;
  bool warned_of_loss_ = false;
  bool resumed_ = false;  ///< whether the next epoch is the one in which an earlier run stopped
};

void TrainingRun::add_graphs() {
  const std::vector<LogicalDevice> devices = model_.strategy().devices();
  for (const LogicalDevice& device : devices)
    require(device.kind == DeviceKind::gpu, "cuda_graphs needs replicas on GPUs, one is on {}", device.name());
  require(!workers_, "cuda_graphs does not work with several workers");
  if (const std::string why = why_not_captured(compute_, devices); !why.empty())
    return log_warning("CUDA graphs are not used: {}", why);
  for (const LogicalDevice& device : devices)
    graphs_.push_back(std::make_unique<StepGraphs>(compute_, device, warned_of_graphs_));
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

void TrainingRun::add_other_workers(Totals& totals, std::vector<std::int64_t>& rows) const {
  if (!workers_) return;
  std::vector<double> own(rows.begin(), rows.end());
  const std::vector<double> numbers = totals.numbers();
  own.insert(own.end(), numbers.begin(), numbers.end());
  const std::size_t replicas = rows.size();
  totals = {};
  rows.clear();
  for (const std::vector<double>& all : gather_numbers(*workers_, "the end of a training step", own)) {
    for (std::size_t replica = 0; replica < replicas; ++replica)
      rows.push_back(static_cast<std::int64_t>(all.at(replica)));
    totals += Totals::from_numbers(std::span(all).subspan(replicas));
  }
}

History TrainingRun::run() {
  for (const auto& callback : options_.callbacks)
    require(callback != nullptr, "fit() was given a callback that is null");
  state_.stop = StopRequest::none;
  notify(&Callback::on_train_begin);
  restore();
  prepare_optimizer();
  while (progress_.epoch < options_.epochs && !stopped()) run_epoch();
  compiled_.optimizer.finalize_variable_values();
  notify(&Callback::on_train_end);
  return std::move(progress_.history);
}

void TrainingRun::restore() {
  for (const auto& callback : options_.callbacks)
    if (is_chief_ || !callback->chief_only()) callback->restore(model_, progress_);
  resumed_ = progress_.steps > 0;
  if (resumed_) notify(&Callback::on_resume);
}

void TrainingRun::prepare_optimizer() const {
  const auto looks_up_rows = [](const Layer& layer) { return layer.impl().traits().looks_up_rows; };
  if (std::ranges::any_of(state_.network.layers(), looks_up_rows)) return;  // the first step finds the sparse gradients
  model_.strategy().run([&] { compiled_.optimizer.build(state_.trainable); });
}

void TrainingRun::begin_epoch() {
  notify(&Callback::on_epoch_begin, EpochPlan{.epoch = progress_.epoch,
                                              .epochs = options_.epochs,
                                              .steps = feed_.steps_in_epoch(),
                                              .steps_done = progress_.steps_in_epoch,
                                              .first_step = progress_.steps,
                                              .resumed = resumed_});
  if (std::exchange(resumed_, false))
    feed_.resume_epoch(progress_.epoch, progress_.steps_in_epoch, progress_.totals.examples, progress_.position);
  else
    feed_.begin_epoch(progress_.epoch);
}

void TrainingRun::run_epoch() {
  begin_epoch();
  const std::int64_t examples_before = progress_.totals.examples;
  const Clock::time_point start = Clock::now();
  while (!stopped() && run_step()) {
  }
  const bool whole = stop_ == StopRequest::none;
  const bool ends = stop_ != StopRequest::at_once;
  if (!whole) notify(&Callback::on_stop, progress_);
  const Logs logs = epoch_logs(progress_.totals.examples - examples_before, seconds_since(start), ends);
  progress_.history.epoch.push_back(progress_.epoch);
  for (const auto& [name, value] : logs) progress_.history.values[name].push_back(value);
  if (ends) notify(&Callback::on_epoch_end, progress_.epoch, logs);
  if (!whole) return;  // a run that resumes here must finish the epoch
  ++progress_.epoch;
  progress_.steps_in_epoch = 0;
  progress_.totals = {};
  notify(&Callback::backup, progress_);
}

bool TrainingRun::run_step() {
  const Clock::time_point start = Clock::now();
  StepClock::take();
  const std::optional<DistributedBatch> batch = feed_.next();
  if (!batch) return false;
  const double input_ms = StepClock::take()[static_cast<std::size_t>(Phase::input)];

  const PerReplica<ReplicaStep> replicas =
      model_.strategy().run([&](const Batch& local) { return step_on_replica(local, batch->global_size()); }, *batch);
  Totals totals;
  std::vector<std::int64_t> rows;
  for (const ReplicaStep& replica : replicas.local_results()) {
    totals += replica.totals;
    rows.push_back(replica.totals.examples);
  }
  add_other_workers(totals, rows);
  progress_.totals += totals;
  progress_.position = feed_.position();

  StepReport report{.step = progress_.steps++,
                    .step_in_epoch = progress_.steps_in_epoch++,
                    .loss = totals.mean_loss(),
                    .learning_rate = compiled_.optimizer.learning_rate(),
                    .examples = totals.examples,
                    .rows = std::move(rows),
                    .step_ms = 1e3 * seconds_since(start),
                    .host_ms = std::chrono::duration<double, std::milli>(replicas[0].given - start).count(),
                    .split_ms = replicas[0].split_ms,
                    .running = progress_.totals.results(compiled_.outputs)};
  report.split_ms[static_cast<std::size_t>(Phase::input)] = input_ms;
  if (is_chief_ && !std::isfinite(report.loss) && !std::exchange(warned_of_loss_, true))
    log_warning(
        "the loss of step {} is {}: a lower learning rate or global_clipnorm may help; TerminateOnNaN ends "
        "such a training, and check_numerics() names the gradient",
        report.step, report.loss);
  notify(&Callback::on_step_end, report);
  // At the end of the step, because the next update would overwrite different copies with equal values.
  if (options_.verify_every > 0 && progress_.steps % options_.verify_every == 0)
    verify_mirrored(model_.variables(), workers_);
  notify(&Callback::backup, progress_);
  return true;
}

ReplicaStep TrainingRun::step_on_replica(const Batch& part, std::int64_t global_size) {
  StepClock::take();
  const Batch local = with_class_weight(part, options_.class_weight);
  ReplicaStep result;
  Forward forward;
  if (graphs_.empty())
    forward = compute_.run(local, global_size);
  else
    forward = graphs_[static_cast<std::size_t>(std::max(0, current_context().replica))]->run(local, global_size);
  result.given = Clock::now();
  {
    // Last, so that a GPU has all of the step's work before the host waits for it.
    const PhaseTimer timer(Phase::compute);
    result.totals = batch_totals(compiled_.outputs, local, forward.predictions, forward.losses);
    if (progress_.steps == 0 && is_chief_ && current_context().replica <= 0)
      warn_of_wrong_from_logits(compiled_.outputs, forward.predictions.y_preds);
    if (forward.penalty.defined()) result.totals.add_to_every_loss(forward.penalty);
  }
  result.split_ms = StepClock::take();
  return result;
}

Logs TrainingRun::epoch_logs(std::int64_t examples, double seconds, bool validate) const {
  Logs logs = progress_.totals.results(compiled_.outputs);
  logs["learning_rate"] = compiled_.optimizer.learning_rate();
  logs["epoch_s"] = seconds;
  logs["examples_per_s"] = static_cast<double>(examples) / seconds;
  if (options_.validation && validate)
    for (const auto& [name, value] : model_.evaluate(*options_.validation)) logs["val_" + name] = value;
  return logs;
}

}  // namespace

History Model::fit(const Dataset& batches, const FitOptions& options) {
  state_->require_own_scope("fit()");
  require(options.epochs >= 1 && options.initial_epoch >= 0,
          "fit() needs epochs >= 1 and initial_epoch >= 0, got {} and {}", options.epochs, options.initial_epoch);
  require(options.class_weight.empty() || network().outputs().size() == 1,
          "class weights are for models of one output, this one has {}: use sample weights",
          network().outputs().size());
  require(options.verify_every >= 0, "verify_every must not be negative, got {}", options.verify_every);
  return TrainingRun(*this, *state_, batches, options).run();
}

}  // namespace lockstep
