#include <lockstep/runtime/thread/context.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/input/batch_split.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {
namespace {

std::int64_t rows_of(const Batch& batch) {
  require(batch.x.rank() >= 1, "a scalar cannot be split over replicas: call batch() on the data set first");
  require(!batch.y.defined() || (batch.y.rank() >= 1 && batch.y.dim(0) == batch.x.dim(0)),
          "x and y of a batch must have equally many rows, got {} and {}", batch.x, batch.y);
  return batch.x.dim(0);
}

}  // namespace

DistributedBatch::DistributedBatch(const Batch& global, int replicas) : global_size_(rows_of(global)) {
  for (int replica = 0; replica < replicas; ++replica) {
    const auto [begin, end] = split_rows(global_size_, replica, replicas);
    Batch part{.x = global.x.slice_view(0, begin, end)};
    if (global.y.defined()) part.y = global.y.slice_view(0, begin, end);
    parts_.push_back(std::move(part));
  }
}

std::optional<DistributedBatch> DistributedIterator::next() {
  require<LogicError>(!current_context().in_replica(), "a distributed data set is iterated outside replicas");
  const PhaseTimer timer(Phase::input);
  const std::optional<Batch> global = pass_.next();
  if (!global) return std::nullopt;
  return DistributedBatch(*global, replicas_);
}

DistributedDataset Strategy::distribute(const Dataset& batches) const { return {batches, num_replicas_in_sync()}; }

}  // namespace lockstep
