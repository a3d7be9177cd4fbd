#include "lockstep/runtime/thread/device_scope.h"

#include <array>
#include <string>

#include <lockstep/runtime/device/registry.h>

namespace lockstep {
namespace {

ExecutionContext placed_on(const LogicalDevice& device) {
  ExecutionContext context = current_context();
  context.device = device;
  context.placed = true;
  return context;
}

}  // namespace

DeviceScope::DeviceScope(const LogicalDevice& device) : context_(placed_on(device)) {
  // Never more threads than the caller has: a replica keeps to its share of the cores.
  if (device.cores < compute_threads()) threads_.emplace(device.cores);
}

DeviceScope::DeviceScope(std::string_view name) : DeviceScope(parse_devices(std::array{std::string(name)}).front()) {}

}  // namespace lockstep
