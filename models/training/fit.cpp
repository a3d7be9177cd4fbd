#include <chrono>
#include <utility>

#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/kernels/ops/reduction.h>
#include <lockstep/models/losses/average_loss.h>
#include <lockstep/models/training/batch_feed.h>
#include <lockstep/models/training/model_state.h>
#include <lockstep/models/training/totals.h>
#include <lockstep/strategy/verify/verify.h>

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// What a replica brings back from a training step.
struct ReplicaStep {
  Totals totals{};
  StepClock::Split split_ms{};
};

/// One call of fit.
class TrainingRun {
 public:
  TrainingRun(Model& model, Model::State& state, const Dataset& batches, const FitOptions& options)
      : model_(model),
        state_(state),
        compiled_(state.require_compiled("fit()")),
        options_(options),
        feed_(model.strategy(), batches, options.steps_per_epoch, options.distribute) {}

  History run();

 private:
  template <class... Parameters, class... Args>
  void tell(void (Callback::*event)(Model&, Parameters...), const Args&... args) const {
    for (const auto& callback : options_.callbacks) ((*callback).*event)(model_, args...);
  }
  void run_epoch(int epoch);
  /// False when the epoch has no more steps.
  bool run_step(std::int64_t step_in_epoch, Totals& epoch_totals);
  ReplicaStep step_on_replica(const Batch& local, std::int64_t global_size) const;
  Logs epoch_logs(const Totals& totals, double seconds) const;

  Model& model_;
  Model::State& state_;
  const Model::State::Compiled compiled_;
  const FitOptions& options_;
  BatchFeed feed_;
  std::int64_t steps_done_ = 0;
  History history_;
};

History TrainingRun::run() {
  state_.stop = false;
  tell(&Callback::on_train_begin);
  for (int epoch = options_.initial_epoch; epoch < options_.epochs && !state_.stop; ++epoch) run_epoch(epoch);
  compiled_.optimizer.finalize_variable_values();
  tell(&Callback::on_train_end);
  return std::move(history_);
}

void TrainingRun::run_epoch(int epoch) {
  tell(&Callback::on_epoch_begin, EpochPlan{epoch, options_.epochs, feed_.steps_in_epoch()});
  feed_.begin_epoch(epoch);
  Totals totals;
  const Clock::time_point start = Clock::now();
  for (std::int64_t step = 0; !state_.stop && run_step(step, totals); ++step) {
  }
  const Logs logs = epoch_logs(totals, seconds_since(start));
  history_.epoch.push_back(epoch);
  for (const auto& [name, value] : logs) history_.values[name].push_back(value);
  tell(&Callback::on_epoch_end, epoch, logs);
}

bool TrainingRun::run_step(std::int64_t step_in_epoch, Totals& epoch_totals) {
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
  epoch_totals += totals;

  StepReport report{.step = steps_done_++,
                    .step_in_epoch = step_in_epoch,
                    .loss = totals.loss / static_cast<double>(totals.examples),
                    .learning_rate = compiled_.optimizer.learning_rate(),
                    .examples = totals.examples,
                    .rows = std::move(rows),
                    .step_ms = 1e3 * seconds_since(start),
                    .split_ms = replicas[0].split_ms,
                    .running = epoch_totals.means(compiled_.metrics)};
  report.split_ms[static_cast<std::size_t>(Phase::input)] = input_ms;
  tell(&Callback::on_step_end, report);
  // Last in the step: the next update would write the same values over copies that differ.
  if (options_.verify_every > 0 && steps_done_ % options_.verify_every == 0) verify_mirrored(model_.variables());
  return true;
}

ReplicaStep TrainingRun::step_on_replica(const Batch& local, std::int64_t global_size) const {
  StepClock::take();
  ReplicaStep result;
  GradientTape tape;
  Tensor loss;
  {
    const PhaseTimer timer(Phase::compute);
    const Tensor y_pred = state_.network(local.x, Mode::train);
    const Tensor loss_sum = sum(losses_by_example(compiled_.loss, local.y, y_pred));
    result.totals = batch_totals(loss_sum, compiled_.metrics, local.y, y_pred);
    loss = loss_sum / static_cast<double>(global_size);
    if (const Tensor penalty = state_.network.regularization_loss(); penalty.defined()) {
      loss = loss + scale_regularization_loss(penalty);
      result.totals.add_to_every_loss(penalty);
    }
  }
  compiled_.optimizer.minimize(tape, loss, state_.trainable);
  result.split_ms = StepClock::take();
  return result;
}

Logs TrainingRun::epoch_logs(const Totals& totals, double seconds) const {
  Logs logs = totals.means(compiled_.metrics);
  logs["learning_rate"] = compiled_.optimizer.learning_rate();
  logs["epoch_s"] = seconds;
  logs["examples_per_s"] = static_cast<double>(totals.examples) / seconds;
  if (options_.validation && !state_.stop)
    for (const auto& [name, value] : model_.evaluate(*options_.validation)) logs["val_" + name] = value;
  return logs;
}

}  // namespace

History Model::fit(const Dataset& batches, const FitOptions& options) {
  state_->require_own_scope("fit()");
  require(options.epochs >= 1 && options.initial_epoch >= 0,
          "fit() needs epochs >= 1 and initial_epoch >= 0, got {} and {}", options.epochs, options.initial_epoch);
  require(options.verify_every >= 0, "verify_every must not be negative, got {}", options.verify_every);
  return TrainingRun(*this, *state_, batches, options).run();
}

}  // namespace lockstep
