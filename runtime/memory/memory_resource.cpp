#include "lockstep/runtime/memory/memory_resource.h"

#include <cstdlib>

#include <sys/mman.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {
namespace {

class HostMemory final : public MemoryResource {
 public:
  void* allocate(std::size_t bytes) override {
    const bool large = bytes >= huge_page;
    const std::size_t alignment = large ? huge_page : cache_line;
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    require<OutOfMemory>(memory != nullptr, "the host has no {} bytes of memory left", bytes);
    // Fewer TLB misses in the big activations; a kernel that refuses only costs speed.
    if (large) madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
  }
  void release(void* memory, std::size_t) noexcept override { std::free(memory); }

 private:
  static constexpr std::size_t cache_line = 64;
  static constexpr std::size_t huge_page = std::size_t{1} << 21;
};

}  // namespace

MemoryResource& memory_resource(const LogicalDevice& device) {
  // Never destroyed: tensors in static storage give their memory back until the very end of the program.
  static auto& host = *new HostMemory;
  if (device.kind == DeviceKind::gpu) return gpu_platform().memory(device);
  return host;
}

}  // namespace lockstep
