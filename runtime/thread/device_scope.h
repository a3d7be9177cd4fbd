#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/device.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {

/// TensorFlow's `tf.device` for the calling thread: while it lives, ops run and allocate on `device`, with its number
/// of threads, and first copy operands there from other devices; the gradient of an op is computed where the op was.
/// Variables made outside of strategies live there, and layers called on symbols are placed there. The innermost one
/// decides.
class [[nodiscard]] DeviceScope {
 public:
  /// Does not check the device: ops in the scope throw Unsupported where this build cannot use it.
  explicit DeviceScope(const LogicalDevice& device);
  /// By name, as parse_devices takes it. Throws InvalidArgument for one that this machine does not have.
  explicit DeviceScope(std::string_view name);
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  ContextScope context_;
  std::optional<ComputeThreadsScope> threads_;
};

/// The result of `build()`, called in a DeviceScope.
template <class Build>
decltype(auto) with_device(const LogicalDevice& device, Build&& build) {
  const DeviceScope scope(device);
  return std::forward<Build>(build)();
}
/// The same with the device's name. Throws InvalidArgument for one that this machine does not have.
template <class Build>
decltype(auto) with_device(std::string_view name, Build&& build) {
  const DeviceScope scope(name);
  return std::forward<Build>(build)();
}

}  // namespace lockstep
