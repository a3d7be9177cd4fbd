#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/layers/added_losses.h>
#include <lockstep/models/losses/by_example.h>
#include <lockstep/models/training/callback_list.h>
#include <lockstep/models/training/model_state.h>
#include <lockstep/models/training/progbar_logger.h>
#include <lockstep/models/training/seconds_since.h>
#include <lockstep/models/training/tensor_rows.h>
#include <lockstep/models/training/totals.h>
#include <lockstep/models/training/training_progress.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/strategy/comm/cluster/over_workers.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

/// The progress of evaluate or predict, which the chief shows if the options say so. Without a call of end(), the
/// destructor says that it stopped.
class Progress {
 public:
  Progress(const Model& model, const char* title, const EvaluateOptions& options) : model_(model) {
    if (shows_progress(options.verbose) && model.strategy().is_chief()) logger_.emplace(title, options.verbose);
  }
  ~Progress() {
    if (shown_) logger_->on_stop(model_, {.steps_in_epoch = steps_});
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(const Dataset& batches) {
    start_ = Clock::now();
    if (!logger_) return;
    logger_->on_epoch_begin(model_, {.epochs = 1, .steps = batches.size().value_or(0)});
    shown_ = true;
  }
  /// `running` returns the losses and metrics so far.
  void step(std::int64_t examples, const std::function<Logs()>& running) {
    if (logger_) logger_->show_step(steps_++, examples, running);
    examples_ += examples;
  }
  void end(Logs logs) {
    if (!logger_) return;
    shown_ = false;
    const double seconds = seconds_since(start_);
    logs["examples_per_s"] = static_cast<double>(examples_) / std::max(1e-9, seconds);
    logger_->on_epoch_end(model_, 0, logs);
  }

 private:
  Model model_;
  std::optional<ProgbarLogger> logger_{};
  Clock::time_point start_{};
  std::int64_t steps_ = 0;
  std::int64_t examples_ = 0;
  bool shown_ = false;  ///< whether it has begun and not ended
};

/// The batches that evaluate and predict read. Throws InvalidArgument for invalid options and if the data set is empty,
/// or endless without a number of steps.
Dataset batches_to_read(const Dataset& batches, const EvaluateOptions& options) {
  require(!options.batch_size, "batch_size is for tensors: a data set is batched with batch()");
  require(options.steps.value_or(1) >= 1, "steps must be at least 1, got {}", options.steps.value_or(1));
  require(batches.size() != 0, "the data set is empty");
  require(!batches.is_endless() || options.steps,
          "a data set without end has no result: give steps, or use take() to limit it");
  // After repeat(), take() limits the pass; before it, it may be refused, as a split of the examples.
  return options.steps ? batches.repeat(1).take(*options.steps) : batches;
}

/// Calls use(number, batch) for all batches.
void each_batch(const Strategy& strategy, const Dataset& batches, const EvaluateOptions& options,
                const std::function<void(std::int64_t, const DistributedBatch&)>& use) {
  DistributeOptions distribution;
  if (batches.size() == 1) distribution.per_replica_buffer_size = 0;  // there is nothing to make ahead
  std::int64_t steps = 0;
  for (const DistributedBatch& batch : strategy.distribute(batches, distribution).epoch()) use(steps++, batch);
  if (options.steps.value_or(steps) > steps) log_warning("the data ended after {} of {} steps", steps, *options.steps);
}

Dataset batches_of(const Batch& data, const EvaluateOptions& options) {
  return Dataset::from_tensors(dense_on_host(data)).batch(options.batch_size.value_or(default_batch_size));
}

/// The options for the data set of batches_of.
EvaluateOptions without_batch_size(EvaluateOptions options) {
  options.batch_size.reset();
  return options;
}

/// The totals of all workers.
Totals over_workers(const Strategy& strategy, const Totals& own) {
  Cluster* const workers = strategy.state()->cluster();
  if (!workers) return own;
  Totals all;
  for (const std::vector<double>& numbers : gather_numbers(*workers, "the end of evaluate()", own.numbers()))
    all += Totals::from_numbers(numbers, own.names);
  return all;
}

/// For values that each replica keeps separately, such as the moving statistics of batch normalization: during this
/// object's lifetime, every replica has their mean. Files store this mean, and with it an example has the same outputs
/// on every replica. All workers must construct and destroy the object at the same time.
class MeanStatistics {
 public:
  explicit MeanStatistics(const Network& network) {
    if (network.strategy().num_replicas_in_sync() == 1) return;
    for (const Variable& variable : network.variables()) {
      if (variable.synchronization() != Synchronization::on_read || variable.aggregation() != Aggregation::mean)
        continue;
      const Tensor mean = variable.value();
      Kept& kept = kept_.emplace_back(Kept{variable, {}});
      for (const Tensor& own : variable.state().copies()) {
        kept.own.push_back(Tensor::empty(own.shape(), own.dtype()));
        copy(own, kept.own.back());
      }
      for (std::size_t i = 0; i < kept.own.size(); ++i) write(variable, i, mean);
    }
  }
  ~MeanStatistics() {
    try {
      for (const auto& [variable, own] : kept_)
        for (std::size_t i = 0; i < own.size(); ++i) write(variable, i, own[i]);
    } catch (const Error& error) {  // only if the device has already failed
      log_warning("the replicas' own statistics of batch normalization could not be restored: {}", error.what());
    }
  }
  MeanStatistics(const MeanStatistics&) = delete;
  MeanStatistics& operator=(const MeanStatistics&) = delete;

 private:
  struct Kept {
    Variable variable;
    std::vector<Tensor> own;  ///< the copies' own values
  };

  static void write(const Variable& variable, std::size_t copy, const Tensor& value) {
    variable.state().write_copy(static_cast<int>(copy), AssignOp::set, value);
  }

  std::vector<Kept> kept_;
};

/// The losses and metrics of a replica's part of a global batch of `global_size` rows.
Totals evaluate_part(const Network& network, const std::vector<CompiledOutput>& outputs, const Batch& local,
                     std::int64_t global_size) {
  const NoGradientScope not_recorded;
  const AddedLosses added;
  Predictions predictions{.global_size = global_size};
  predictions.y_preds = network.run(local.inputs, Mode::inference, &predictions.masks);
  Totals totals = batch_totals(outputs, local, predictions, batch_losses(outputs, local, predictions));
  if (const Tensor sum = added.sum(); sum.defined()) totals.add_to_every_loss(sum);
  return totals;
}

/// By output, the rows that predict has computed, in order.
using OutputParts = std::vector<std::vector<Tensor>>;

/// Appends the outputs of a global batch; with several workers, those of all workers' replicas.
void append_outputs(const Strategy& strategy, const PerReplica<std::vector<Tensor>>& replicas, OutputParts& parts) {
  if (strategy.state()->cluster()) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i].push_back(
          strategy.gather(replicas.transform([&](const std::vector<Tensor>& outputs) { return outputs[i]; }), 0));
    return;
  }
  for (const std::vector<Tensor>& replica : replicas.local_results())
    for (std::size_t i = 0; i < replica.size(); ++i)
      if (replica[i].dim(0) > 0) parts[i].push_back(replica[i]);
}

}  // namespace

Logs Model::evaluate(const Dataset& batches, const EvaluateOptions& options) const {
  const State::Compiled compiled = state_->require_evaluation("evaluate()");
  const StepFunction& test_step = compiled.steps.test_step;
  state_->require_own_scope("evaluate()");
  const Dataset read = batches_to_read(batches, options);
  CallbackList callbacks(*this, options.callbacks, "evaluate()");
  Progress progress(*this, "evaluate", options);
  callbacks.notify(&Callback::on_test_begin);
  std::optional<MeanStatistics> statistics(network());
  const Tensor penalty = test_step ? Tensor() : network().regularization_loss();
  const auto results_of = [&](Totals totals) {
    if (penalty.defined()) totals.add_to_every_loss(penalty);
    return totals.results(compiled.outputs);
  };
  Totals totals;
  progress.begin(read);
  each_batch(strategy(), read, options, [&](std::int64_t number, const DistributedBatch& batch) {
    callbacks.notify(&Callback::on_test_batch_begin, number);
    const auto replicas = strategy().run(
        [&](const Batch& local) {
          return test_step ? custom_totals(test_step(*this, local, batch.global_size()), local.size())
                           : evaluate_part(network(), compiled.outputs, local, batch.global_size());
        },
        batch);
    for (const Totals& replica : replicas.local_results()) totals += replica;
    const auto running = [&] { return results_of(totals); };
    progress.step(batch.global_size(), running);
    callbacks.notify(&Callback::on_test_batch_end,
                     TestBatchReport{.batch = number, .examples = batch.global_size(), .running = running});
  });
  statistics.reset();
  totals = over_workers(strategy(), totals);
  require(totals.examples > 0, "the data set is empty");
  Logs results = results_of(totals);
  callbacks.notify(&Callback::on_test_end, results);
  progress.end(results);
  return results;
}

Logs Model::evaluate(const Batch& data, const EvaluateOptions& options) const {
  return evaluate(batches_of(data, options), without_batch_size(options));
}

Tensor Model::predict(const Dataset& batches, const EvaluateOptions& options) const {
  const std::size_t outputs = network().outputs().size();
  require<LogicError>(outputs == 1, "predict() gives one output, the model has {}: use predict_all()", outputs);
  return predict_all(batches, options).front();
}

Tensor Model::predict(const std::vector<Tensor>& xs, const EvaluateOptions& options) const {
  return predict(batches_of({xs}, options), without_batch_size(options));
}

std::vector<Tensor> Model::predict_all(const std::vector<Tensor>& xs, const EvaluateOptions& options) const {
  return predict_all(batches_of({xs}, options), without_batch_size(options));
}

std::vector<Tensor> Model::predict_all(const Dataset& batches, const EvaluateOptions& options) const {
  state_->require_own_scope("predict()");
  const Dataset read = batches_to_read(batches, options);
  CallbackList callbacks(*this, options.callbacks, "predict()");
  Progress progress(*this, "predict", options);
  callbacks.notify(&Callback::on_predict_begin);
  std::optional<MeanStatistics> statistics(network());
  OutputParts parts(network().outputs().size());
  progress.begin(read);
  each_batch(strategy(), read, options, [&](std::int64_t number, const DistributedBatch& batch) {
    callbacks.notify(&Callback::on_predict_batch_begin, number);
    const auto replicas = strategy().run(
        [&](const Batch& local) {
          const NoGradientScope not_recorded;
          std::vector<Tensor> outputs = network().run(local.inputs, Mode::inference);
          std::ranges::transform(outputs, outputs.begin(), as_f32);
          return outputs;
        },
        batch);
    progress.step(batch.global_size(), [] { return Logs(); });
    const auto read_before = static_cast<std::ptrdiff_t>(parts.front().size());
    append_outputs(strategy(), replicas, parts);
    const auto outputs_of_batch = [&] {
      std::vector<Tensor> outputs;
      for (const std::vector<Tensor>& output : parts)
        outputs.push_back(concatenate(std::vector(output.begin() + read_before, output.end()), 0));
      return outputs;
    };
    callbacks.notify(&Callback::on_predict_batch_end,
                     PredictBatchReport{.batch = number, .examples = batch.global_size(), .outputs = outputs_of_batch});
  });
  statistics.reset();
  require(!parts.front().empty(), "the data set is empty");
  std::vector<Tensor> outputs;
  for (std::vector<Tensor>& output : parts) {
    outputs.push_back(concatenate(std::exchange(output, {}), 0));
    if (outputs.back().unique()) continue;  // otherwise a layer such as Flatten returned a view of the caller's x
    const Tensor shared = std::exchange(outputs.back(), Tensor::empty(outputs.back().shape(), outputs.back().dtype()));
    copy(shared, outputs.back());
  }
  callbacks.notify(&Callback::on_predict_end);
  progress.end({});
  return outputs;
}

}  // namespace lockstep
