#include "lockstep/runtime/device/gpu_platform.h"

#include <atomic>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/built_in_gpu_platform.h>
#include <lockstep/runtime/device/contracts.h>

namespace lockstep {
namespace {

std::atomic<GpuPlatform*>& other_platform() {
  static std::atomic<GpuPlatform*> other = nullptr;
  return other;
}

}  // namespace

GpuPlatform& gpu_platform() {
  GpuPlatform* const other = other_platform();
  return other != nullptr ? *other : built_in_gpu_platform();
}

void synchronize(const LogicalDevice& device) {
  if (device.kind != DeviceKind::gpu) return;
  gpu_platform().synchronize(device);
  if (contracts::checked()) contracts::finished(device);
}

GpuPlatformScope::GpuPlatformScope(GpuPlatform& platform) { other_platform() = &platform; }

GpuPlatformScope::~GpuPlatformScope() { other_platform() = nullptr; }

int physical_gpu(const LogicalDevice& gpu) {
  const int count = gpu_platform().count();
  if (count == 0) fail<Unsupported>("{} cannot be used: {}", gpu.name(), gpu_platform().report().why_none);
  return gpu.index % count;
}

}  // namespace lockstep
