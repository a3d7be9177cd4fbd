#include <lockstep/models/training/tensor_rows.h>
#include <lockstep/models/training/train_step.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {
namespace {

/// A data set of this batch.
Dataset one_batch(const Batch& batch) {
  const Dataset rows = Dataset::from_tensors(dense_on_host(batch));
  require(batch.size() > 0, "the batch has no rows");
  return rows.batch(batch.size());
}

}  // namespace

Logs Model::train_on_batch(const Batch& batch, const ClassWeight& class_weight) {
  TrainStep step(*this, *state_, class_weight, "train_on_batch()");
  const DistributedDataset distributed = strategy().distribute(one_batch(batch), {.per_replica_buffer_size = 0});
  const DistributedBatch parts = distributed.epoch().next().value();
  bool& has_trained = state_->compiled->has_trained_on_batch;
  const bool is_first = !has_trained && optimizer().iterations() == 0;
  if (is_first) step.prepare_optimizer();
  const StepResults results = step.run(parts, is_first);
  has_trained = true;
  return results.totals.results(step.compiled().outputs);
}

Logs Model::test_on_batch(const Batch& batch) const {
  state_->require_evaluation("test_on_batch()");
  state_->require_own_scope("test_on_batch()");
  return evaluate(one_batch(batch), {.verbose = 0});
}

Tensor Model::predict_on_batch(const std::vector<Tensor>& xs) const {
  state_->require_own_scope("predict_on_batch()");
  const std::size_t outputs = network().outputs().size();
  require<LogicError>(outputs == 1, "predict_on_batch() gives one output, the model has {}: use predict_all_on_batch()",
                      outputs);
  return predict_all_on_batch(xs).front();
}

std::vector<Tensor> Model::predict_all_on_batch(const std::vector<Tensor>& xs) const {
  state_->require_own_scope("predict_all_on_batch()");
  return predict_all(one_batch({xs}), {.verbose = 0});
}

}  // namespace lockstep
