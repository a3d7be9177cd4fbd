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
  /// The device of the variables, of the replicas' kind (CPU or GPU). Default: CPU:0 for several replicas on CPUs,
  /// otherwise the first replica's device. (A GPU's kernels cannot read host memory.)
  std::optional<LogicalDevice> parameter_device{};
  /// Longest wait of a replica for the others. When it expires, the step fails with Timeout, which names the late
  /// replicas. Values above longest_timeout (a year) are reduced to it.
  std::chrono::milliseconds timeout{std::chrono::seconds(600)};
};

/// Replicas on several devices and a single copy of each variable, on one device of the replicas' kind. For parameters
/// that do not fit on every device. A GPU that does not hold a variable copies it at each use.
class CentralStorageStrategy : public Strategy {
 public:
  /// A replica on each device. Throws InvalidArgument for an empty list of devices, a device listed twice and a timeout
  /// that is not positive. Throws Unsupported for a device that this build cannot use, and for a parameter_device that
  /// differs in kind from the replicas' devices or whose memory the replicas' GPUs cannot access. Also throws whatever
  /// connect throws.
  explicit CentralStorageStrategy(const std::vector<LogicalDevice>& compute_devices,
                                  const CentralStorageOptions& options = {});
  /// A replica on each named device, e.g. {"CPU:0", "CPU:1"}; see parse_devices.
  explicit CentralStorageStrategy(const std::vector<std::string>& compute_devices);
  /// For braced lists of string literals. Without this overload, std::vector could take two literals for a pair of
  /// iterators.
  CentralStorageStrategy(std::initializer_list<std::string> compute_devices)
      : CentralStorageStrategy(std::vector<std::string>(compute_devices)) {}
};

}  // namespace lockstep
