#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// How the replicas of a MirroredStrategy synchronize and combine values.
struct MirroredOptions {
  /// Longest wait of a replica for the others before the step fails with Timeout naming the late ones.
  std::chrono::milliseconds timeout{std::chrono::seconds(600)};
  /// How the replicas' values are combined; connect says what `automatic` stands for.
  CrossDeviceOps cross_device_ops = CrossDeviceOps::automatic;
  /// As CommunicationOptions::bytes_per_pack.
  std::int64_t bytes_per_pack = 0;
  /// As CommunicationOptions::wire_dtype.
  DType wire_dtype = DType::f32;
  /// Replicas take turns, as TensorFlow's do: replica 0 runs until it reaches a barrier or ends, then replica 1, and so
  /// on. Fixes the order of all side effects, for tests; nothing runs at the same time.
  bool sequential = false;
};

/// Synchronous training on the devices of one machine: a copy of every variable on each device, a host thread for each
/// replica, gradients summed over the replicas and the same update applied to every copy.
class MirroredStrategy : public Strategy {
 public:
  /// On every GPU; where there is none, on two logical CPUs that share the cores.
  MirroredStrategy();
  /// A replica on each device. Throws InvalidArgument for no device, for one listed twice, for one that this build
  /// cannot use, and for a timeout that is not positive; what connect throws.
  explicit MirroredStrategy(const std::vector<LogicalDevice>& devices, const MirroredOptions& options = {});
  /// On devices by name, e.g. {"CPU:0", "CPU:1"}; see parse_devices.
  explicit MirroredStrategy(const std::vector<std::string>& devices);
  /// For a list of literals: two of them could also be taken for a pair of iterators.
  MirroredStrategy(std::initializer_list<std::string> devices) : MirroredStrategy(std::vector<std::string>(devices)) {}
};

}  // namespace lockstep
