#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// How the workers of a MultiWorkerMirroredStrategy synchronize.
struct MultiWorkerOptions {
  /// Maximum wait for another worker. When it expires, the step fails with Timeout, which names the late workers. If
  /// there are other workers, replicas of one worker wait twice as long for each other. These times and silence_limit
  /// are reduced to longest_timeout (a year) if they exceed it. `timeout` must be the same on all workers.
  std::chrono::milliseconds timeout{std::chrono::seconds(600)};
  ///@{
  /// See ClusterOptions.
  std::chrono::milliseconds silence_limit{std::chrono::seconds(30)};
  std::function<bool()> asked_to_end{};
  ///@}
  /// See CommunicationOptions::bytes_per_pack.
  std::int64_t bytes_per_pack = 0;
  /// See CommunicationOptions::wire_dtype. Must be the same on all workers.
  DType wire_dtype = DType::f32;
};

/// Synchronous training in several processes, on one or more machines: `mpirun -np 4 -H a:2,b:2 program`. Each process,
/// called a worker, has the same number of replicas and runs the same program; a step runs on the replicas of all
/// workers. Collectives include the replicas of all workers. `run` takes and returns this worker's values; `reduce` and
/// `gather` take this worker's values and combine them with the values of the other workers. Variables start with the
/// chief's values; making a variable throws InvalidArgument on all workers if its properties differ between workers, or
/// if an f32 initial value differs from the chief's initial value c by more than 1e-5 * max(1, |c|), e.g. because of
/// different seeds. If the program was started alone, this behaves as a MirroredStrategy.
class MultiWorkerMirroredStrategy : public Strategy {
 public:
  /// A replica on each of worker_devices().
  MultiWorkerMirroredStrategy();
  /// A replica of this worker on each device. Throws the same errors as MirroredStrategy and join_cluster, and
  /// InvalidArgument on all workers when they have different numbers or kinds of devices.
  explicit MultiWorkerMirroredStrategy(const std::vector<LogicalDevice>& devices,
                                       const MultiWorkerOptions& options = {});
};

/// Devices for this worker. If the machine has GPUs, all workers on the machine get the same number of them, at least
/// one. Without GPUs, this worker gets one logical CPU with its share of the cores. If `replicas` is given, returns
/// that many GPUs or logical CPUs. Throws the same errors as default_devices.
std::vector<LogicalDevice> worker_devices(std::optional<int> replicas = std::nullopt);

}  // namespace lockstep
