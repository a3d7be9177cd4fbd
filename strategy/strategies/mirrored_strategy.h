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
  /// Maximum time that a replica waits for the others. When it expires, the step fails with Timeout, which names the
  /// late replicas. With `sequential`, it limits the wait for each single run of another replica. Values above
  /// longest_timeout (a year) are reduced to it.
  std::chrono::milliseconds timeout{std::chrono::seconds(600)};
  /// The algorithm that combines the replicas' values; see connect() (connections.h) for the choice made by
  /// `automatic`.
  CrossDeviceOps cross_device_ops = CrossDeviceOps::automatic;
  /// See CommunicationOptions::bytes_per_pack.
  std::int64_t bytes_per_pack = 0;
  /// See CommunicationOptions::wire_dtype.
  DType wire_dtype = DType::f32;
  /// Runs one replica at a time, as TensorFlow does: replica 0 until it reaches a barrier or ends, then replica 1, and
  /// so on. This fixes the order of all side effects, for tests.
  bool sequential = false;
};

/// Synchronous training on the devices of one machine: each device has a copy of every variable, each replica has a
/// host thread, and the sum of the replicas' gradients updates every copy in the same way.
class MirroredStrategy : public Strategy {
 public:
  /// A replica on every GPU; without GPUs, on two logical CPUs that share the cores.
  MirroredStrategy();
  /// A replica on each device. Throws InvalidArgument for an empty list of devices, a device listed twice and a timeout
  /// that is not positive. Throws Unsupported for a device that this build cannot use. Also throws the errors of
  /// connect().
  explicit MirroredStrategy(const std::vector<LogicalDevice>& devices, const MirroredOptions& options = {});
  /// A replica on each named device, e.g. {"CPU:0", "CPU:1"}; see parse_devices.
  explicit MirroredStrategy(const std::vector<std::string>& devices);
  /// For braced lists of string literals. Without this overload, std::vector could take two literals for a pair of
  /// iterators.
  MirroredStrategy(std::initializer_list<std::string> devices) : MirroredStrategy(std::vector<std::string>(devices)) {}
};

}  // namespace lockstep
