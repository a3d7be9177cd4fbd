#include <lockstep/kernels/ops/array.h>
#include <lockstep/models/training/model_state.h>
#include <lockstep/models/training/totals.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {
namespace {

/// One pass over the data, of which there must be some.
DistributedIterator only_pass(const Strategy& strategy, const Dataset& batches) {
  require(batches.size() != 0, "the data set is empty");
  require(batches.size().has_value(), "a data set without end has no result: use take() to limit it");
  return strategy.distribute(batches).epoch();
}

}  // namespace

Logs Model::evaluate(const Dataset& batches) {
  const State::Compiled compiled = state_->require_compiled("evaluate()");
  state_->require_own_scope("evaluate()");
  Totals totals;
  for (const DistributedBatch& batch : only_pass(strategy(), batches)) {
    const auto replicas = strategy().run(
        [&](const Batch& local) {
          const NoGradientScope not_recorded;
          const Tensor y_pred = network()(local.inputs(), Mode::inference);
          return batch_totals(weighted_loss(compiled.loss, local, y_pred), compiled.metrics, local, y_pred);
        },
        batch);
    for (const Totals& replica : replicas.local_results()) totals += replica;
  }
  if (const Tensor penalty = network().regularization_loss(); penalty.defined()) totals.add_to_every_loss(penalty);
  return totals.results(compiled.metrics);
}

Tensor Model::predict(const Dataset& batches) {
  state_->require_own_scope("predict()");
  std::vector<Tensor> outputs;
  for (const DistributedBatch& batch : only_pass(strategy(), batches)) {
    const auto replicas = strategy().run(
        [&](const Batch& local) {
          const NoGradientScope not_recorded;
          return network()(local.inputs(), Mode::inference);
        },
        batch);
    for (const Tensor& output : replicas.local_results())
      if (output.dim(0) > 0) outputs.push_back(output);
  }
  return concat(outputs, 0);
}

}  // namespace lockstep
