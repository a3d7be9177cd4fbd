#pragma once

#include <string>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

/// Everything on one device, by the calling thread: the surface of the other strategies with plain variables, whatever
/// their synchronization, to write a program for one device that is to run on several later.
class OneDeviceStrategy : public Strategy {
 public:
  /// Throws for a device that this build cannot use.
  explicit OneDeviceStrategy(const LogicalDevice& device);
  /// By name, e.g. "CPU:0"; see parse_devices.
  explicit OneDeviceStrategy(const std::string& device);
};

}  // namespace lockstep
