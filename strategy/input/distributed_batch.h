#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/strategy/core/batch_rows.h>
#include <lockstep/strategy/core/structure.h>
#include <lockstep/strategy/input/resident_rows.h>
#include <lockstep/strategy/input/share_measurement.h>
#include <lockstep/strategy/input/uploaded_batch.h>

namespace lockstep {

/// The replicas that run in this process.
struct LocalReplicas {
  int in_sync = 1;  ///< number of replicas in all processes
  int first = 0;    ///< index of this process's first replica in all processes
  int count = 1;    ///< number of replicas in this process
};

/// Returns the range of rows that this process needs of a global batch: the rows that split_rows assigns to its
/// replicas. If its replicas get no rows, returns one row, because the process needs the shapes and dtypes.
/// Precondition: rows >= 1.
RowRange local_rows(std::int64_t rows, const LocalReplicas& replicas, std::span<const double> shares = {});

/// A global batch, split over the replicas. If it is an argument of `Strategy::run`, each replica's step receives its
/// own part as `const Batch&`. With fewer rows than replicas, some parts have no rows.
class DistributedBatch {
 public:
  /// The parts are views of the batch's rows, by split_rows. Throws InvalidArgument for a batch without inputs,
  /// undefined tensors, scalars (examples that were not batched), tensors with different numbers of rows, and sample
  /// weights of other shapes than (n) or (n, 1) for n rows. Precondition: check_shares accepts `shares`.
  DistributedBatch(const Batch& global, int replicas, std::span<const double> shares = {})
      : DistributedBatch(global, LocalReplicas{.in_sync = replicas, .first = 0, .count = replicas}, shares) {}
  /// Same as above, with parts only for the replicas of this process.
  DistributedBatch(const Batch& global, const LocalReplicas& replicas, std::span<const double> shares = {});
  /// Same as above, for a global batch of `rows` rows, of which `own` contains only the rows given by local_rows. Also
  /// throws InvalidArgument if `own` has another number of rows.
  DistributedBatch(const Batch& own, std::int64_t rows, const LocalReplicas& replicas,
                   std::span<const double> shares = {});
  /// `parts` has one element per replica; a replica whose element is empty gets a batch with 0 rows. Throws
  /// InvalidArgument for a batch in the same cases as the first constructor, and BrokenInvariant if no replica has a
  /// batch.
  explicit DistributedBatch(const std::vector<std::optional<Batch>>& parts);

  /// Moves each replica's part to its device. Copies to GPUs are asynchronous: accessing a part makes the GPU's later
  /// work wait for its copy.
  void move_to(const std::vector<LogicalDevice>& devices);
  /// For parts that are batches of Dataset::row_numbers. When a part is first accessed, replaces the row numbers in it
  /// by the transformed rows of `rows`, on the replica's device. Loads `rows` at once.
  void take_from(const std::shared_ptr<ResidentRows>& rows);

  /// The same batch with 0 rows in each part and global_size() 0. Keeps dtypes, devices and the shapes of the rows.
  /// Precondition: take_from has not been called.
  DistributedBatch without_rows() const;
  /// Sets the number of rows of all workers.
  void set_global_size(std::int64_t rows) { global_size_ = rows; }

  /// Number of rows of all replicas of all workers; the divisor of the sum of losses.
  std::int64_t global_size() const { return global_size_; }
  /// The parts of this process's replicas, in replica order.
  const std::vector<Batch>& local_results() const;
  /// The part of a replica of this process. Throws std::out_of_range when there is no such replica.
  const Batch& part(int replica) const;
  /// Number of parts: the replicas of this process.
  int parts() const { return static_cast<int>(parts_.size()); }

  /// The batch that was split. Empty if the constructor was not given the global batch.
  const Batch& global() const { return global_; }
  /// Adds the steps that run on this batch to `measurement`.
  void measure_with(std::shared_ptr<ShareMeasurement> measurement) { measurement_ = std::move(measurement); }
  /// The measurement; null if there is none.
  const std::shared_ptr<ShareMeasurement>& measurement() const { return measurement_; }

 private:
  /// Adds the parts of this process's replicas. `rows` contains the global batch's rows from `first` on.
  void cut(const Batch& rows, std::int64_t first, const LocalReplicas& replicas, std::span<const double> shares);

  Batch global_{};
  std::int64_t global_size_ = 0;
  std::vector<Batch> parts_;
  std::vector<std::shared_ptr<const UploadedBatch>> uploads_{};  ///< by replica; for parts on GPUs
  std::shared_ptr<const TakenRows> taken_{};                     ///< for parts of resident rows
  std::shared_ptr<ShareMeasurement> measurement_{};
};

namespace detail {
template <>
struct OverReplicas<DistributedBatch>;  // not defined: a batch is an argument of its own, not inside a vector or pair
}

/// The replica's part. Throws std::out_of_range when there is no such replica.
inline const Batch& value_for_replica(const DistributedBatch& batch, int replica) { return batch.part(replica); }
/// Number of this process's replicas, each of which has a part.
inline int replicas_of(const DistributedBatch& batch) { return batch.parts(); }
/// Numbers of rows of the replica's part and of the global batch.
inline std::optional<BatchRows> batch_rows(const DistributedBatch& batch, int replica) {
  return BatchRows{.own = batch.part(replica).size(), .all = batch.global_size()};
}
/// Adds the step's rows and times to the measurement, if there is one.
void after_step(const DistributedBatch& batch, const ReplicaGroup& group);

}  // namespace lockstep
