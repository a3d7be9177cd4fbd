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
#include <lockstep/strategy/input/share_measurement.h>
#include <lockstep/strategy/input/uploaded_batch.h>

namespace lockstep {

/// Which of the replicas in sync are in this process.
struct LocalReplicas {
  int in_sync = 1;  ///< how many there are in all
  int first = 0;    ///< number of the first one here
  int count = 1;    ///< how many are here
};

/// The rows that this process needs of a global batch of `rows` >= 1: those of its replicas, as split_rows deals them,
/// or, where they have none, one row as an example of shapes and dtypes.
RowRange local_rows(std::int64_t rows, const LocalReplicas& replicas, std::span<const double> shares = {});

/// One global batch, cut for the replicas; an argument for `Strategy::run`, whose step gets its own `const Batch&`.
/// When there are fewer rows than replicas, some of them get a batch of no rows.
class DistributedBatch {
 public:
  /// Views of the batch's rows, as split_rows deals them. Throws InvalidArgument for examples that were not batched.
  DistributedBatch(const Batch& global, int replicas, std::span<const double> shares = {})
      : DistributedBatch(global, LocalReplicas{.in_sync = replicas, .first = 0, .count = replicas}, shares) {}
  /// The same, with the parts of this process's replicas alone.
  DistributedBatch(const Batch& global, const LocalReplicas& replicas, std::span<const double> shares = {});
  /// The same of a global batch of `rows`, of which `own` is local_rows. Throws InvalidArgument for another number.
  DistributedBatch(const Batch& own, std::int64_t rows, const LocalReplicas& replicas,
                   std::span<const double> shares = {});
  /// Each replica's own batch; one of no rows for those without. Precondition: one replica has one. Throws
  /// InvalidArgument for examples that were not batched.
  explicit DistributedBatch(const std::vector<std::optional<Batch>>& parts);

  /// Moves each replica's part to its device. Copies to GPUs may still run when this returns: reading a part
  /// orders the GPU's later work after them.
  void move_to(const std::vector<LogicalDevice>& devices);

  /// A batch of no rows for each replica, in the form of this one's.
  DistributedBatch without_rows() const;
  /// Other workers have the rest of these rows.
  void set_global_size(std::int64_t rows) { global_size_ = rows; }

  /// Rows of all replicas, those of other workers included: the divisor of the losses' sum.
  std::int64_t global_size() const { return global_size_; }
  /// The parts of this process's replicas, in replica order.
  const std::vector<Batch>& local_results() const;
  /// The part of one of them. Throws std::out_of_range when there is no such replica.
  const Batch& part(int replica) const;
  /// Number of replicas of this process that it was split for.
  int parts() const { return static_cast<int>(parts_.size()); }

  /// The batch that was split; without inputs for other constructors.
  const Batch& global() const { return global_; }
  /// Steps on this batch count as steps of the measurement.
  void measure_with(std::shared_ptr<ShareMeasurement> measurement) { measurement_ = std::move(measurement); }
  /// Null when nothing is measured.
  const std::shared_ptr<ShareMeasurement>& measurement() const { return measurement_; }

 private:
  /// The replicas' parts of a global batch, of which `rows` are those from `first` on.
  void cut(const Batch& rows, std::int64_t first, const LocalReplicas& replicas, std::span<const double> shares);

  Batch global_{};
  std::int64_t global_size_ = 0;
  std::vector<Batch> parts_;
  std::vector<std::shared_ptr<const UploadedBatch>> uploads_{};  ///< by replica, where parts are on GPUs
  std::shared_ptr<ShareMeasurement> measurement_{};
};

/// The replica's part. Throws std::out_of_range when there is no such replica.
inline const Batch& value_for_replica(const DistributedBatch& batch, int replica) { return batch.part(replica); }
/// How many replicas it was cut for.
inline int replicas_of(const DistributedBatch& batch) { return batch.parts(); }
/// The rows of the replica's part and of all.
inline std::optional<BatchRows> batch_rows(const DistributedBatch& batch, int replica) {
  return BatchRows{.own = batch.part(replica).size(), .all = batch.global_size()};
}
/// Gives the measurement, if there is one, the step's time.
void after_step(const DistributedBatch& batch, const ReplicaGroup& group);

}  // namespace lockstep
