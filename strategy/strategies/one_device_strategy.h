#pragma once

#include <string>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Runs everything on one device, on the calling thread. Has the interface of the other strategies, for programs that
/// may later run on several devices. Every variable has a single copy, on the device.
class OneDeviceStrategy : public Strategy {
 public:
  /// Throws Unsupported for a device that this build cannot use.
  explicit OneDeviceStrategy(const LogicalDevice& device);
  /// On a named device, e.g. "CPU:0"; see parse_devices.
  explicit OneDeviceStrategy(const std::string& device);
};

}  // namespace lockstep
