#include "lockstep/runtime/memory/device_memory.h"

#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/memory/host_memory.h>

namespace lockstep {

MemoryResource& memory_resource(const LogicalDevice& device) {
  // Never destroyed: tensors in static storage free their memory until the very end of the program.
  static auto& host = *new HostMemory;
  if (device.kind == DeviceKind::gpu) return gpu_platform().memory(device);
  return host;
}

}  // namespace lockstep
