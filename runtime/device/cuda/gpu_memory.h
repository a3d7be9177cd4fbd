#pragma once

#include <cstddef>

#include <lockstep/runtime/device/cuda/gpu.h>
#include <lockstep/runtime/device/memory_resource.h>

namespace lockstep {

/// Memory of a logical GPU, allocated from its physical GPU's default pool of cudaMallocAsync, which retains freed
/// memory. Every GPU that can address this GPU's memory may read and write it.
class GpuMemory final : public MemoryResource {
 public:
  /// `gpu` must outlive this object. Throws DeviceError.
  explicit GpuMemory(const Gpu& gpu);
  /// If the pool is out of memory, waits for the compute stream, trims the pool and retries once. Throws OutOfMemory,
  /// DeviceError, NotCapturable.
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override;

 private:
  [[noreturn]] void fail_for(std::size_t bytes) const;

  const Gpu& gpu_;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace lockstep
