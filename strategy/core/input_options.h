#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// Number of cores that make batches in the background for replicas on these devices: those that the replicas do not
/// use, at least one. A replica on a CPU uses all of its cores; the thread of one on a GPU uses one core.
int input_threads(std::span<const LogicalDevice> devices, int cores);

/// How Strategy::distribute splits global batches, for one data set.
struct DistributeOptions {
  /// Batches that are made and split ahead, in the background, for each replica; 0: none, on the caller's thread.
  std::int64_t per_replica_buffer_size = 2;
  /// For replicas of unequal speed: each one's share of a batch, in any unit. Empty: equal shares.
  std::vector<double> shares{};
  /// Instead of given shares: splits evenly for a warm-up step and this many more, and from then on by the
  /// speeds of the replicas in those steps. A step is a run() with a batch. 0: not measured.
  std::int64_t measure_steps = 0;
  /// Keeps the batches of the first pass where the replicas' devices read them and gives them again in every later
  /// pass, with no more copies from the host: for a data set that fits there and whose passes are equal. Not with
  /// measure_steps.
  bool cache_on_devices = false;
};

/// What a call of distribute_from_function's function makes its data set for.
struct InputContext {
  int num_input_pipelines = 1;   ///< number of calls of the function
  int input_pipeline_id = 0;     ///< number of this call, from 0
  int num_replicas_in_sync = 1;  ///< of the strategy

  /// global_batch_size / num_replicas_in_sync. Throws InvalidArgument unless it is an integer.
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch_size) const;
  /// "input pipeline id 1, total: 3".
  std::string text() const;
};

/// How many data sets feed the replicas.
enum class ReplicationMode {
  per_worker,   ///< one data set on each worker, whose batches go to its replicas in turn
  per_replica,  ///< one data set for each replica
};

/// How Strategy::distribute_from_function asks for data, for one call.
struct InputOptions {
  /// Batches that are made ahead, in the background, for each replica; 0: none, on the caller's thread.
  std::int64_t per_replica_buffer_size = 2;
  /// Whether the function is called once, or once for each replica.
  ReplicationMode replication_mode = ReplicationMode::per_worker;
};

}  // namespace lockstep
