#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {

/// The global batches of a training run, epoch by epoch: a pass over the data each or, with `steps_per_epoch`, so many
/// batches each, passes following one another.
class BatchFeed {
 public:
  /// Throws InvalidArgument for an empty data set, for one without end when `steps_per_epoch` is not given, and for
  /// options that do not fit the strategy.
  BatchFeed(const Strategy& strategy, const Dataset& batches, std::optional<std::int64_t> steps_per_epoch,
            const DistributeOptions& options);

  /// Batches in each epoch.
  std::int64_t steps_in_epoch() const { return steps_; }
  /// Starts epoch number `epoch`, from 0.
  void begin_epoch(int epoch);
  /// The epoch's next batch; nothing at its end. Throws InvalidArgument when the data set has fewer examples than there
  /// are replicas.
  std::optional<DistributedBatch> next();

 private:
  void start_pass(std::uint64_t number);
  void check_enough(const DistributedBatch& first) const;

  DistributedDataset data_;
  int replicas_;
  bool follow_on_;  ///< an epoch goes on where the last one ended
  std::int64_t steps_;
  std::int64_t left_ = 0;  ///< steps of this epoch
  std::uint64_t pass_number_ = 0;
  std::optional<DistributedIterator> pass_{};
  bool checked_ = false;
};

}  // namespace lockstep
