#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {

/// The position of a training run in its data.
struct FeedPosition {
  /// Number of the pass, from 0.
  std::uint64_t pass = 0;
  std::int64_t batches = 0;  ///< number of batches of this pass that have been read
};

/// The global batches of a training run, epoch by epoch. An epoch is a pass over the data or, with `steps_per_epoch`,
/// that many batches. As in Keras, an epoch ends early if the pass ends first (the first such epoch logs a warning),
/// and the next epoch then begins the next pass.
class BatchFeed {
 public:
  /// The first epoch begins with the pass `first_pass`. Throws InvalidArgument for an empty data set, for an endless
  /// data set without `steps_per_epoch`, for a `steps_per_epoch` below 1, and for `options` that Strategy::distribute
  /// refuses. For a generator of unknown size, only next() can detect that it is empty.
  BatchFeed(const Strategy& strategy, const Dataset& batches, std::uint64_t first_pass,
            std::optional<std::int64_t> steps_per_epoch, const DistributeOptions& options);

  /// Number of batches in the next epoch. If the size of the data is not known, returns `steps_per_epoch` or, if that
  /// is not given, 0.
  std::int64_t steps_in_epoch() const;
  /// Starts the next epoch.
  void begin_epoch();
  /// Resumes an epoch that another feed of the same data has begun; call it instead of begin_epoch. In this epoch, the
  /// other feed gave `steps_done` batches with `examples_done` examples in all, and was then at `position`. Skips these
  /// batches. Throws InputError if the pass has fewer batches, or if these batches do not have `examples_done`
  /// examples.
  void resume_epoch(std::int64_t steps_done, std::int64_t examples_done, const FeedPosition& position);
  /// The position after the batches given so far.
  const FeedPosition& position() const { return position_; }
  /// The epoch's next batch; empty at the end of the epoch. Throws InvalidArgument for an empty data set, and for a
  /// data set that is known to be a single batch with fewer examples than replicas. Throws BrokenInvariant if the data
  /// set has fewer batches than its size().
  std::optional<DistributedBatch> next();

 private:
  void start_pass(std::uint64_t number);
  void check_enough(const DistributedBatch& first) const;
  /// Whether the current pass is known to have no more batches.
  bool pass_is_over() const { return ended_ || position_.batches == data_.size(); }
  /// The pass's next batch. If the pass turns out to be over when the epoch begins, starts the next pass.
  std::optional<DistributedBatch> next_of_passes();

  DistributedDataset data_;
  int replicas_;
  std::uint64_t first_pass_;
  std::optional<std::int64_t> steps_per_epoch_;
  std::int64_t given_ = 0;  ///< number of batches that this epoch has given
  FeedPosition position_{};
  std::optional<DistributedIterator> pass_{};
  bool ended_ = false;  ///< whether the pass has been read to its end
  bool checked_ = false;
  bool warned_ = false;
};

}  // namespace lockstep
