#pragma once

#include <cstddef>

#include <lockstep/runtime/device/cuda/gpu.h>
#include <lockstep/runtime/device/memory_resource.h>

namespace lockstep {

/// Memory of a logical GPU out of its physical GPU's stream-ordered pool, which keeps what is given back. Other GPUs
/// that reach this one's memory may read and write it.
class GpuMemory final : public MemoryResource {
 public:
  /// Throws DeviceError.
  explicit GpuMemory(const Gpu& gpu);
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override;

 private:
  [[noreturn]] void fail_for(std::size_t bytes) const;

  const Gpu& gpu_;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace lockstep
