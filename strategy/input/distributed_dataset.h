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

/// The parts of a distributed data set; shared by its passes.
struct DistributedDatasetSpec {
  std::function<Elements<DistributedBatch>(std::uint64_t epoch)> open;  ///< starts a pass, in host memory
  std::optional<std::int64_t> size{};               ///< global batches in a pass; nothing when it never ends
  std::int64_t dropped_rows = 0;                    ///< examples that a pass leaves out
  std::vector<LogicalDevice> devices{};             ///< of the replicas that batches are cut for
  std::int64_t per_replica_buffer_size = 0;         ///< as in DistributeOptions
  std::vector<double> shares{};                     ///< given ones
  std::shared_ptr<ShareMeasurement> measurement{};  ///< null when shares are not measured
  bool cache_on_devices = false;                    ///< as in DistributeOptions
  /// Where each worker makes data that the others do not make: the strategy of all of them. Else null.
  std::shared_ptr<StrategyState> own_data_of{};
  bool until_none_has_any = false;  ///< whether workers have batches of their own and continue until all have ended
};

/// Iterates over a distributed data set, pass by pass; may be destroyed at any batch.
class DistributedIterator {
 public:
  /// At the start of pass number `epoch`.
  DistributedIterator(std::shared_ptr<const DistributedDatasetSpec> spec, std::uint64_t epoch);
  ///@{
  /// A moved-from iterator can only be assigned to.
  DistributedIterator(DistributedIterator&&) = default;
  DistributedIterator& operator=(DistributedIterator&&) = default;
  ///@}

  /// The next global batch; nothing at the end of the pass, also when called again. Throws LogicError inside a replica,
  /// and errors of the data set, after the batches before them, which end the pass.
  std::optional<DistributedBatch> next();
  /// Moves to the start of pass `number`.
  void begin_epoch(std::uint64_t number);

 private:
  /// The batches of the first whole pass.
  struct Cache {
    std::vector<DistributedBatch> batches{};
    bool complete = false;
  };

  /// This worker's next batch. If other workers do not make it, too, they are notified of a failure.
  std::optional<DistributedBatch> next_here(Cluster* others);
  /// Makes the next batches of pass `number` anew.
  Elements<DistributedBatch> open(std::uint64_t number) const;
  /// That of all workers: one of no rows while others have some.
  std::optional<DistributedBatch> next_of_all(Cluster& workers);

  Handle<const DistributedDatasetSpec, "pass over a distributed data set"> spec_;
  Elements<DistributedBatch> pass_;
  std::optional<DistributedBatch> no_rows_{};  ///< in the form of the last batch
  std::shared_ptr<Cache> cache_{};             ///< null unless batches are kept on the devices
};

/// A data set of global batches, each of which is split over all replicas. Made by Strategy::distribute and
/// distribute_from_function.
class DistributedDataset {
 public:
  /// What Strategy::distribute and distribute_from_function call.
  explicit DistributedDataset(DistributedDatasetSpec spec)
      : spec_(std::make_shared<const DistributedDatasetSpec>(std::move(spec))) {}

  /// Number of global steps in a pass; nothing when the set never ends.
  std::optional<std::int64_t> size() const { return spec_->size; }
  /// Examples that a pass leaves out; see Dataset::dropped_rows.
  std::int64_t dropped_rows() const { return spec_->dropped_rows; }
  /// The replicas' shares of a batch, as given or measured; none while they are equal.
  const std::vector<double>& shares() const {
    return spec_->measurement ? spec_->measurement->shares() : spec_->shares;
  }
  /// Pass `number`, from 0, as Dataset::epoch.
  DistributedIterator epoch(std::uint64_t number = 0) const { return DistributedIterator(spec_.shared(), number); }

 private:
  Handle<const DistributedDatasetSpec, "distributed data set"> spec_;
};

}  // namespace lockstep
