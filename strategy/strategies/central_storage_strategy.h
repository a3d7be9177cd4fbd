#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// The device of the variables, and how long replicas wait for each other.
struct CentralStorageOptions {
  /// The device of the variables; by default the host's CPU:0, or the first device if there is only one or if
  /// replicas are on GPUs, whose kernels cannot read host memory.
  std::optional<LogicalDevice> parameter_device{};
  /// Longest wait of a replica for the others before the step fails with Timeout naming the late ones.
  std::chrono::milliseconds timeout{std::chrono::seconds(600)};
};

/// Replicas on several devices and one copy of each variable, on one of them or on the host: for parameters that do not
/// fit on every device. Each use reads them over the bus.
class CentralStorageStrategy : public Strategy {
 public:
  /// A replica on each device. Throws InvalidArgument for no device, for one listed twice, for one that this build
  /// cannot use, and for a timeout that is not positive, Unsupported for a parameter_device that they cannot access.
  explicit CentralStorageStrategy(const std::vector<LogicalDevice>& compute_devices,
                                  const CentralStorageOptions& options = {});
  /// On devices by name, e.g. {"CPU:0", "CPU:1"}; see parse_devices.
  explicit CentralStorageStrategy(const std::vector<std::string>& compute_devices);
  /// For a list of literals: two of them could also be taken for a pair of iterators.
  CentralStorageStrategy(std::initializer_list<std::string> compute_devices)
      : CentralStorageStrategy(std::vector<std::string>(compute_devices)) {}
};

}  // namespace lockstep
