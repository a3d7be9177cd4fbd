#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/strategy/core/per_replica.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// One global batch, cut for the replicas; an argument for `Strategy::run`, whose step gets its own `const Batch&`.
/// When there are fewer rows than replicas, the last ones get a batch of no rows.
class DistributedBatch {
 public:
  /// Views of the batch's rows. Throws InvalidArgument for examples that were not batched.
  DistributedBatch(const Batch& global, int replicas);

  /// Rows of all replicas together: what the losses' sum is divided by.
  std::int64_t global_size() const { return global_size_; }
  const std::vector<Batch>& local_results() const { return parts_; }

 private:
  std::int64_t global_size_;
  std::vector<Batch> parts_;
};

inline const Batch& value_for_replica(const DistributedBatch& batch, int replica) {
  return batch.local_results().at(static_cast<std::size_t>(replica));
}
inline int replicas_of(const DistributedBatch& batch) { return static_cast<int>(batch.local_results().size()); }

/// One pass over a distributed data set.
class DistributedIterator {
 public:
  DistributedIterator(DatasetIterator pass, int replicas) : pass_(std::move(pass)), replicas_(replicas) {}

  /// The next global batch; nothing at the end. Throws LogicError inside a replica.
  std::optional<DistributedBatch> next();

  /// For range-for: an input iterator over what `next` gives.
  class Step;
  Step begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  DatasetIterator pass_;
  int replicas_;
};

class DistributedIterator::Step {
 public:
  explicit Step(DistributedIterator& steps) : steps_(&steps), batch_(steps.next()) {}
  const DistributedBatch& operator*() const { return *batch_; }
  Step& operator++() {
    batch_ = steps_->next();
    return *this;
  }
  friend bool operator==(const Step& step, std::default_sentinel_t) { return !step.batch_; }

 private:
  DistributedIterator* steps_;
  std::optional<DistributedBatch> batch_;
};

inline DistributedIterator::Step DistributedIterator::begin() { return Step(*this); }

/// A data set of global batches, each of which all replicas work on together.
class DistributedDataset {
 public:
  DistributedDataset(Dataset batches, int replicas) : batches_(std::move(batches)), replicas_(replicas) {}

  /// Number of global steps in a pass; nothing when the set never ends.
  std::optional<std::int64_t> size() const { return batches_.size(); }
  /// Pass `number`, from 0, as Dataset::epoch.
  DistributedIterator epoch(std::uint64_t number = 0) const { return {batches_.epoch(number), replicas_}; }

 private:
  Dataset batches_;
  int replicas_;
};

}  // namespace lockstep
