#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Where the variables are, and how long replicas wait for each other.
struct CentralStorageOptions {
  /// Where the variables are; if not said, the host's CPU:0, or the first device where there is only one and where
  /// replicas are on GPUs, whose kernels do not reach the host's memory.
  std::optional<LogicalDevice> parameter_device{};
  /// Longest wait of a replica for the others before the step fails with Timeout naming the late ones.
  std::chrono::milliseconds timeout{std::chrono::seconds(600)};
};

/// Replicas on several devices and one copy of each variable, on one of them or on the host: for parameters that do not
/// fit on every device, at the price of a read over the bus for each use.
class CentralStorageStrategy : public Strategy {
 public:
  /// A replica on each device. Throws InvalidArgument for no device, for one listed twice, for one that this build
  /// cannot use, and for a timeout that is not positive, Unsupported for a parameter_device that they do not reach.
  explicit CentralStorageStrategy(const std::vector<LogicalDevice>& compute_devices,
                                  const CentralStorageOptions& options = {});
  /// On devices by name, e.g. {"CPU:0", "CPU:1"}; see parse_devices.
  explicit CentralStorageStrategy(const std::vector<std::string>& compute_devices);
  /// For a list of literals: two of them could also be taken for a pair of iterators.
  CentralStorageStrategy(std::initializer_list<std::string> compute_devices)
      : CentralStorageStrategy(std::vector<std::string>(compute_devices)) {}
};

}  // namespace lockstep
