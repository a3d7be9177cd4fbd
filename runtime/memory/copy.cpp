#include "lockstep/runtime/memory/copy.h"

#include <cstring>

#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {
namespace {

void check(const char* call, const LogicalDevice& device, const void* memory, std::size_t bytes) {
  if (device.kind == DeviceKind::gpu && contracts::checked()) contracts::check(call, Stream{device}, {{memory, bytes}});
}

}  // namespace

void copy_bytes(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
                std::size_t bytes) {
  if (bytes == 0) return;
  check("a copy", source, from, bytes);
  check("a copy", destination, to, bytes);
  if (destination.kind == DeviceKind::cpu && source.kind == DeviceKind::cpu)
    std::memcpy(to, from, bytes);
  else
    gpu_platform().copy(to, destination, from, source, bytes);
}

void clear_bytes(void* memory, const LogicalDevice& device, std::size_t bytes) {
  if (bytes == 0) return;
  check("clear_bytes", device, memory, bytes);
  if (device.kind == DeviceKind::cpu)
    std::memset(memory, 0, bytes);
  else
    gpu_platform().clear(device, memory, bytes);
}

}  // namespace lockstep
