#pragma once

#include <string>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Everything on one device, by the calling thread: the interface of the other strategies with plain variables of any
/// synchronization, for programs that run on one device now and on several later.
class OneDeviceStrategy : public Strategy {
 public:
  /// Throws for a device that this build cannot use.
  explicit OneDeviceStrategy(const LogicalDevice& device);
  /// By name, e.g. "CPU:0"; see parse_devices.
  explicit OneDeviceStrategy(const std::string& device);
};

}  // namespace lockstep
