#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {

/// TensorFlow's `tf.device` for the calling thread. During its lifetime ops run and allocate on `device`, use at most
/// `device.cores` threads, and first copy their operands there from other devices. The gradient of an op is computed on
/// the op's device. Variables made outside strategies live on `device`, and layers called on symbols are placed on it.
/// If scopes nest, the innermost one applies.
class [[nodiscard]] DeviceScope {
 public:
  /// Does not check the device: ops in the scope throw Unsupported if this build or machine cannot use it.
  explicit DeviceScope(const LogicalDevice& device);
  /// `name` is a device name that parse_devices accepts. Throws the same errors as parse_devices.
  explicit DeviceScope(std::string_view name);
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  ContextScope context_;
  std::optional<ComputeThreadsScope> threads_;
};

/// Calls `build()` in a DeviceScope and returns its result.
template <class Build>
decltype(auto) with_device(const LogicalDevice& device, Build&& build) {
  const DeviceScope scope(device);
  return std::forward<Build>(build)();
}
/// Same as above, for a device given by name. Throws the same errors as parse_devices.
template <class Build>
decltype(auto) with_device(std::string_view name, Build&& build) {
  const DeviceScope scope(name);
  return std::forward<Build>(build)();
}

}  // namespace lockstep
