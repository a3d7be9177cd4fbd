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
  /// Longest wait for another worker, or for a replica of this one, before the step fails naming the late ones. The
  /// same on all workers.
  std::chrono::milliseconds timeout{std::chrono::seconds(600)};
  ///@{
  /// As ClusterOptions'.
  std::chrono::milliseconds silence_limit{std::chrono::seconds(30)};
  std::function<bool()> asked_to_end{};
  ///@}
  /// As CommunicationOptions::bytes_per_pack.
  std::int64_t bytes_per_pack = 0;
  /// As CommunicationOptions::wire_dtype. The same on all workers.
  DType wire_dtype = DType::f32;
};

/// Synchronous training in several processes, on one or more machines: `mpirun -np 4 -H a:2,b:2 program`. Each process,
/// a worker, has the same number of replicas; a step runs on all of them. Every worker runs the same program:
/// collectives include the replicas of all workers; `run`, `reduce` and `gather` see this worker's values,
/// combined with those of the others where they combine, and variables start with the chief's values. Where the program
/// was started alone, this is MirroredStrategy.
class MultiWorkerMirroredStrategy : public Strategy {
 public:
  /// On worker_devices().
  MultiWorkerMirroredStrategy();
  /// A replica of this worker on each device. Throws as MirroredStrategy and join_cluster; on all workers
  /// InvalidArgument when they have different numbers or kinds of devices.
  explicit MultiWorkerMirroredStrategy(const std::vector<LogicalDevice>& devices,
                                       const MultiWorkerOptions& options = {});
};

/// The devices of this worker: its share of the machine's GPUs, at least one, among the workers that were started on
/// the machine; where there is no GPU, one logical CPU with its share of the cores. With `replicas`, that many of
/// either. Throws as default_devices.
std::vector<LogicalDevice> worker_devices(std::optional<int> replicas = std::nullopt);

}  // namespace lockstep
