#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <lockstep/runtime/core/handle.h>
#include <lockstep/runtime/data/dataset.h>
#include <lockstep/strategy/core/strategy.h>
#include <lockstep/strategy/input/distributed_batch.h>

namespace lockstep {

/// The definition of a distributed data set; shared by its passes.
struct DistributedDatasetSpec {
  std::function<Elements<DistributedBatch>(std::uint64_t epoch)> open;  ///< starts a pass; batches are in host memory
  std::optional<std::int64_t> size{};               ///< global batches in a pass; empty: endless or unknown
  std::int64_t dropped_rows = 0;                    ///< examples that a pass drops
  std::vector<LogicalDevice> devices{};             ///< devices of this process's replicas
  std::int64_t per_replica_buffer_size = 0;         ///< see DistributeOptions
  std::vector<double> shares{};                     ///< see DistributeOptions
  std::shared_ptr<ShareMeasurement> measurement{};  ///< null when shares are not measured
  std::shared_ptr<ResidentRows> resident_rows{};    ///< the rows to which batches of row numbers refer; else null
  std::shared_ptr<StrategyState> strategy{};        ///< the strategy whose workers and replicas use the batches
  bool until_none_has_any = false;  ///< workers have separate batches; a pass ends when no worker has any left
};

/// Iterates over a distributed data set, pass by pass. It may be destroyed before the end of a pass.
class DistributedIterator {
 public:
  /// Starts pass number `epoch`.
  DistributedIterator(std::shared_ptr<const DistributedDatasetSpec> spec, std::uint64_t epoch)
      : spec_(std::move(spec)) {
    begin_epoch(epoch);
  }
  ///@{
  /// A moved-from iterator can only be assigned to or destroyed.
  DistributedIterator(DistributedIterator&&) = default;
  DistributedIterator& operator=(DistributedIterator&&) = default;
  ///@}

  /// The next global batch; nothing at the end of the pass and in all later calls before begin_epoch(). If the data set
  /// is from distribute_from_function, all workers must make this call. Throws LogicError inside a replica. Errors of
  /// the data set end the pass and are thrown after the batches that precede them. Throws InputError if this worker's
  /// own data set is empty and another worker's data set has batches. Throws InvalidArgument for a global batch without
  /// rows, which also ends the pass; if the data set is from distribute_from_function, all workers throw it. Notifies
  /// the other workers of its other errors.
  std::optional<DistributedBatch> next();
  /// Ends the current pass and starts pass `number`. Notifies the other workers of the data set's errors.
  void begin_epoch(std::uint64_t number);

 private:
  /// This worker's next batch.
  std::optional<DistributedBatch> next_here();
  /// The next batch of all workers. This worker's part has no rows if only other workers have batches left. A
  /// collective.
  std::optional<DistributedBatch> next_of_all(Cluster& workers);

  Handle<const DistributedDatasetSpec, "pass over a distributed data set"> spec_;
  Elements<DistributedBatch> pass_;
  std::optional<DistributedBatch> no_rows_{};  ///< an empty batch with the shapes and dtypes of the last batch
};

/// A data set of global batches that are split over all replicas. Strategy::distribute and distribute_from_function
/// create it.
class DistributedDataset {
 public:
  /// For Strategy::distribute and distribute_from_function.
  explicit DistributedDataset(DistributedDatasetSpec spec)
      : spec_(std::make_shared<const DistributedDatasetSpec>(std::move(spec))) {}

  /// Number of global batches in a pass; empty when the data set is endless or its size is unknown.
  std::optional<std::int64_t> size() const { return spec_->size; }
  /// Number of examples that a pass drops; see Dataset::dropped_rows.
  std::int64_t dropped_rows() const { return spec_->dropped_rows; }
  /// The replicas' shares of a batch, given or measured. Empty if the shares are equal, and until their measurement is
  /// complete.
  const std::vector<double>& shares() const {
    return spec_->measurement ? spec_->measurement->shares() : spec_->shares;
  }
  /// Starts pass `number`, from 0; see Dataset::epoch.
  DistributedIterator epoch(std::uint64_t number = 0) const { return DistributedIterator(spec_.shared(), number); }

 private:
  Handle<const DistributedDatasetSpec, "distributed data set"> spec_;
};

}  // namespace lockstep
