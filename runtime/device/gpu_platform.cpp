#include "lockstep/runtime/device/gpu_platform.h"

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/contracts.h>

namespace lockstep {

void synchronize(const LogicalDevice& device) {
  if (device.kind != DeviceKind::gpu) return;
  gpu_platform().synchronize(device);
  if (contracts::checked()) contracts::finished(device);
}

int physical_gpu(const LogicalDevice& gpu) {
  const int count = gpu_platform().count();
  if (count == 0) fail<Unsupported>("{} cannot be used: {}", gpu.name(), gpu_platform().report().why_none);
  return gpu.index % count;
}

}  // namespace lockstep
