#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {

/// Where in the data a training run is.
struct FeedPosition {
  /// Number of the pass, from 0.
  std::uint64_t pass = 0;
  std::int64_t batches = 0;  ///< of the pass that have been read
};

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
  /// Instead of begin_epoch, for an epoch of which another feed of the same data has given `steps_done` batches and got
  /// to `position`. Reads over the batches of the pass that were given.
  void resume_epoch(int epoch, std::int64_t steps_done, const FeedPosition& position);
  /// Up to where the batches have been given.
  const FeedPosition& position() const { return position_; }
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
  FeedPosition position_{};
  std::optional<DistributedIterator> pass_{};
  bool checked_ = false;
};

}  // namespace lockstep
