#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Options of a CentralStorageStrategy.
struct CentralStorageOptions {
  /// The device of the variables. Default: the first device if there is only one, or if replicas are on GPUs, whose
  /// kernels cannot read host memory; otherwise CPU:0.
  std::optional<LogicalDevice> parameter_device{};
  /// Longest wait of a replica for the others. After it the step fails with Timeout, which names the late replicas.
  std::chrono::milliseconds timeout{std::chrono::seconds(600)};
};

/// Replicas on several devices and a single copy of each variable, on one of the devices or on the host. For parameters
/// that do not fit on every device: each use reads them over the bus.
class CentralStorageStrategy : public Strategy {
 public:
  /// A replica on each device. Throws InvalidArgument for an empty list of devices, a device listed twice and a timeout
  /// that is not positive; Unsupported for a device that this build cannot use and for a parameter_device that the
  /// replicas cannot access.
  explicit CentralStorageStrategy(const std::vector<LogicalDevice>& compute_devices,
                                  const CentralStorageOptions& options = {});
  /// A replica on each named device, e.g. {"CPU:0", "CPU:1"}; see parse_devices.
  explicit CentralStorageStrategy(const std::vector<std::string>& compute_devices);
  /// For a list of literals, which std::vector could also take for a pair of iterators.
  CentralStorageStrategy(std::initializer_list<std::string> compute_devices)
      : CentralStorageStrategy(std::vector<std::string>(compute_devices)) {}
};

}  // namespace lockstep
