#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// How many of a process's cores make batches in the background for replicas on these devices: those that the replicas
/// leave, one at least. On a CPU a replica computes on all that are its own; for one on a GPU its thread takes a core.
int input_threads(std::span<const LogicalDevice> devices, int cores);

/// How Strategy::distribute splits global batches. Holds for the one data set it is given with.
struct DistributeOptions {
  /// Batches that are made and split ahead, in the background, for each replica; 0: none, on the caller's thread.
  std::int64_t per_replica_buffer_size = 2;
  /// For replicas of unequal speed: each one's share of a batch, of whatever sum. None: equal ones.
  std::vector<double> shares{};
  /// Instead of given shares: splits evenly for one step, which warms up, and so many more, and from then on by the
  /// speeds of the replicas in these. A step is a run() that is given a batch. 0: not measured.
  std::int64_t measure_steps = 0;
  /// Keeps the batches of the first pass where the replicas' devices read them and gives them again in every later
  /// pass, with no more copies from the host: for a data set that fits there and whose passes are equal. Not with
  /// measure_steps.
  bool cache_on_devices = false;
};

/// What one call of a function given to Strategy::distribute_from_function is to make its data set for.
struct InputContext {
  int num_input_pipelines = 1;   ///< how often the function is called
  int input_pipeline_id = 0;     ///< number of this call, from 0
  int num_replicas_in_sync = 1;  ///< of the strategy

  /// global_batch_size / num_replicas_in_sync. Throws InvalidArgument when it is no whole number.
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch_size) const;
  /// "input pipeline id 1, total: 3".
  std::string text() const;
};

/// How many data sets feed the replicas.
enum class ReplicationMode {
  per_worker,   ///< one data set on each worker, whose batches are dealt to its replicas in turn
  per_replica,  ///< one data set for each replica
};

/// How Strategy::distribute_from_function asks for data. Holds for the one call it is given with.
struct InputOptions {
  /// Batches that are made ahead, in the background, for each replica; 0: none, on the caller's thread.
  std::int64_t per_replica_buffer_size = 2;
  /// Whether the function is called once, or once for each replica.
  ReplicationMode replication_mode = ReplicationMode::per_worker;
};

}  // namespace lockstep
