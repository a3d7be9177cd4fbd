#include "lockstep/models/compat/estimator.h"

#include <algorithm>

#include <lockstep/models/compat/use_instead.h>
#include <lockstep/models/training/clone_model.h>
#include <lockstep/runtime/data/stack.h>

namespace lockstep {
namespace {

/// A pass over `batches` that joins each group of up to `replicas` consecutive batches.
DatasetIterator in_groups(const Dataset& batches, std::uint64_t epoch, int replicas) {
  return [pass = batches.epoch(epoch), replicas]() mutable -> std::optional<Batch> {
    std::vector<Batch> group;
    while (static_cast<int>(group.size()) < replicas) {
      std::optional<Batch> batch = pass.next();
      if (!batch) break;
      group.push_back(*std::move(batch));
    }
    if (group.empty()) return std::nullopt;
    return detail::join(group);
  };
}

}  // namespace

Dataset Estimator::global_batches(const InputFunction& input_fn) const {
  require(input_fn != nullptr, "an estimator needs an input function, got one that is null");
  const Dataset batches = input_fn();
  const int replicas = model_.strategy().num_replicas_in_sync();
  if (replicas == 1) return batches;
  std::optional<std::int64_t> groups = batches.size();
  if (groups) groups = (*groups + replicas - 1) / replicas;
  const Dataset grouped = Dataset::from_generator(
      [batches, replicas](std::uint64_t epoch) { return in_groups(batches, epoch, replicas); }, groups);
  return batches.is_endless() ? grouped.repeat() : grouped;
}

Estimator& Estimator::train(const InputFunction& input_fn, const EstimatorTrainOptions& options) {
  require(!options.steps || !options.max_steps, "train() takes steps or max_steps, got both");
  std::optional<std::int64_t> steps = options.steps;
  if (options.max_steps) steps = *options.max_steps - model_.optimizer().iterations();
  if (steps && *steps <= 0) return *this;
  const Dataset batches = global_batches(input_fn);
  if (steps && batches.size()) steps = std::min(*steps, *batches.size());
  model_.fit(batches, {.steps_per_epoch = steps, .callbacks = options.hooks, .verbose = 0});
  return *this;
}

Logs Estimator::evaluate(const InputFunction& input_fn, std::optional<std::int64_t> steps) {
  Logs logs = model_.evaluate(global_batches(input_fn), {.steps = steps, .verbose = 0});
  logs["global_step"] = static_cast<double>(model_.optimizer().iterations());
  return logs;
}

Tensor Estimator::predict(const InputFunction& input_fn) {
  return model_.predict(global_batches(input_fn), {.verbose = 0});
}

Estimator model_to_estimator(const Model& keras_model, const RunConfig& config) {
  use_instead("model_to_estimator", "make the model in a strategy's scope and call fit");
  require<LogicError>(!has_strategy(), "model_to_estimator was called in a strategy's scope; call it outside");
  const CustomSteps steps = keras_model.compiled_steps();
  const std::vector<OutputTraining> outputs = keras_model.compiled_outputs();
  const Optimizer& optimizer = keras_model.optimizer();
  require<LogicError>(optimizer.iterations() == 0,
                      "model_to_estimator takes a model whose optimizer has done no step, this one has done {}",
                      optimizer.iterations());
  const auto make = [&] {
    Model model = clone_model(keras_model);
    model.set_weights(keras_model.get_weights());
    model.compile(optimizer, outputs, steps);
    return Estimator(model);
  };
  return config.train_distribute ? config.train_distribute->scope(make) : make();
}

}  // namespace lockstep
