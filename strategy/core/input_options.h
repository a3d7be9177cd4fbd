#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// Number of cores, out of `cores`, that make batches in the background for replicas on `devices`: the cores that the
/// replicas leave free, at least 1. A replica on a CPU uses all cores of its device; a replica on a GPU uses one core.
int input_threads(std::span<const LogicalDevice> devices, int cores);

/// How Strategy::distribute splits the global batches of a data set.
struct DistributeOptions {
  /// Number of batches per replica that a background thread makes, splits and copies to the replicas' devices in
  /// advance. If 0, DistributedIterator::next() does this on the calling thread. Must not be negative. Has no effect
  /// with cache_on_devices.
  std::int64_t per_replica_buffer_size = 2;
  /// Each replica's share of a batch, in any unit, for replicas of unequal speed: one positive, finite number for each
  /// replica of all workers. Empty: equal shares. Not allowed with measure_steps.
  std::vector<double> shares{};
  /// Number of steps over which the replicas' speeds are measured; 0: no measurement. The batches of a warm-up step and
  /// of the measured steps are split evenly, later batches in proportion to the speeds. Every run() with a batch of the
  /// data set is a step, but a step in which a replica has no rows does not count. Ignored with one replica;
  /// distribute() throws Unsupported with several workers.
  std::int64_t measure_steps = 0;
  /// Keeps a copy of the data set's tensors in the memory of every replica's device; the first call of
  /// DistributedIterator::next() makes the copies. Each step takes the rows of its batch from the copy and transforms
  /// them on the device. The batches are bit-identical to batches without this option. distribute() throws
  /// InvalidArgument for a data set for which Dataset::row_numbers returns nothing or single numbers, because batch()
  /// is missing or comes before a cache(file); next() throws OutOfMemory if the tensors do not fit.
  bool cache_on_devices = false;
};

/// Describes a call of the function given to distribute_from_function.
struct InputContext {
  int num_input_pipelines = 1;   ///< number of calls of the function on all workers
  int input_pipeline_id = 0;     ///< index of this call among the calls of all workers, from 0
  int num_replicas_in_sync = 1;  ///< number of replicas of all workers

  /// global_batch_size / num_replicas_in_sync. Throws InvalidArgument unless this is an integer of at least 1.
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch_size) const;
  /// A description, e.g. "input pipeline id 1, total: 3".
  std::string text() const;
};

/// Number of data sets that supply the replicas.
enum class ReplicationMode {
  per_worker,   ///< one data set on each worker; the worker's replicas take its batches in turn
  per_replica,  ///< one data set for each replica
};

/// How Strategy::distribute_from_function reads its data sets.
struct InputOptions {
  /// Number of batches per replica that a background thread makes and copies to the replicas' devices in advance. If 0,
  /// DistributedIterator::next() does this on the calling thread. Must not be negative.
  std::int64_t per_replica_buffer_size = 2;
  /// Whether the function is called once on each worker or once for each replica.
  ReplicationMode replication_mode = ReplicationMode::per_worker;
};

}  // namespace lockstep
