#include "lockstep/models/compat/estimator.h"

#include <algorithm>
#include <cstring>

#include <lockstep/models/compat/use_instead.h>
#include <lockstep/models/training/clone_model.h>

namespace lockstep {
namespace {

/// The rows of all, one part after the other; undefined if they are.
Tensor join_rows(const std::vector<Tensor>& parts) {
  if (!parts.front().defined()) return {};
  Shape shape = parts.front().shape();
  shape[0] = 0;
  for (const Tensor& part : parts) {
    require(part.defined() && part.rank() == static_cast<int>(shape.rank()) && part.dtype() == parts.front().dtype(),
            "the batches of one step must be alike, got {} and {}", parts.front(), part);
    shape[0] += part.dim(0);
  }
  Tensor joined = Tensor::empty(shape, parts.front().dtype());
  std::int64_t row = 0;
  for (const Tensor& part : parts) {
    copy(part, joined.slice_view(0, row, row + part.dim(0)));
    row += part.dim(0);
  }
  return joined;
}

/// The same member of each batch.
template <class Member>
Tensor join(const std::vector<Batch>& batches, const Member& member) {
  std::vector<Tensor> parts;
  for (const Batch& batch : batches) parts.push_back(member(batch));
  return join_rows(parts);
}

Batch join(const std::vector<Batch>& batches) {
  Batch joined{.x = join(batches, [](const Batch& batch) { return batch.x; }),
               .y = join(batches, [](const Batch& batch) { return batch.y; }),
               .sample_weight = join(batches, [](const Batch& batch) { return batch.sample_weight; })};
  for (std::size_t i = 0; i < batches.front().more_x.size(); ++i)
    joined.more_x.push_back(join(batches, [i](const Batch& batch) { return batch.more_x.at(i); }));
  for (std::size_t i = 0; i < batches.front().more_y.size(); ++i)
    joined.more_y.push_back(join(batches, [i](const Batch& batch) { return batch.more_y.at(i); }));
  return joined;
}

/// Up to `replicas` batches of a pass as one.
DatasetIterator in_groups(const Dataset& batches, std::uint64_t epoch, int replicas) {
  return [pass = batches.epoch(epoch), replicas]() mutable -> std::optional<Batch> {
    std::vector<Batch> group;
    while (static_cast<int>(group.size()) < replicas) {
      std::optional<Batch> batch = pass.next();
      if (!batch) break;
      group.push_back(*std::move(batch));
    }
    if (group.empty()) return std::nullopt;
    return join(group);
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
  model_.fit(batches, {.steps_per_epoch = steps, .callbacks = options.hooks});
  return *this;
}

Logs Estimator::evaluate(const InputFunction& input_fn, std::optional<std::int64_t> steps) {
  const Dataset batches = global_batches(input_fn);
  Logs logs = model_.evaluate(steps ? batches.take(*steps) : batches);
  logs["global_step"] = static_cast<double>(model_.optimizer().iterations());
  return logs;
}

Tensor Estimator::predict(const InputFunction& input_fn) { return model_.predict(global_batches(input_fn)); }

Estimator model_to_estimator(const Model& keras_model, const RunConfig& config) {
  use_instead("model_to_estimator", "make the model in a strategy's scope and call fit");
  require<LogicError>(!has_strategy(), "model_to_estimator was called in a strategy's scope; call it outside");
  const std::vector<OutputTraining> outputs = keras_model.compiled_outputs();
  const Optimizer& optimizer = keras_model.optimizer();
  require<LogicError>(optimizer.iterations() == 0,
                      "model_to_estimator takes a model whose optimizer has done no step, this one has done {}",
                      optimizer.iterations());
  const auto make = [&] {
    Model model = clone_model(keras_model);
    model.set_weights(keras_model.get_weights());
    model.compile(optimizer, outputs);
    return Estimator(model);
  };
  return config.train_distribute ? config.train_distribute->scope(make) : make();
}

}  // namespace lockstep
