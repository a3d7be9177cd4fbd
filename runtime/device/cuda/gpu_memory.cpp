#include "lockstep/runtime/device/cuda/gpu_memory.h"

#include <cstdint>
#include <limits>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/cuda/gpu_report.h>
#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep {
namespace {

/// Lets every GPU that can access `ordinal` use memory of its pool.
void share_with_peers(cudaMemPool_t pool, int ordinal) {
  const int count = count_gpus();
  for (int peer = 0; peer < count; ++peer) {
    int reachable = 0;
    if (peer != ordinal) check_cuda(cudaDeviceCanAccessPeer(&reachable, peer, ordinal), "cudaDeviceCanAccessPeer");
    if (!reachable) continue;
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = peer;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    check_cuda(cudaMemPoolSetAccess(pool, &access, 1), "cudaMemPoolSetAccess");
  }
}

}  // namespace

GpuMemory::GpuMemory(const Gpu& gpu) : gpu_(gpu) {
  gpu.make_current();
  check_cuda(cudaDeviceGetDefaultMemPool(&pool_, gpu.ordinal()), "cudaDeviceGetDefaultMemPool", gpu.device());
  // By default a pool gives everything back to the system at each synchronization.
  std::uint64_t keep_all = std::numeric_limits<std::uint64_t>::max();
  check_cuda(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all), "cudaMemPoolSetAttribute",
             gpu.device());
  share_with_peers(pool_, gpu.ordinal());
}

void* GpuMemory::allocate(std::size_t bytes) {
  refuse_capture("an allocation of new memory");
  gpu_.make_current();
  void* memory = nullptr;
  cudaError_t status = cudaMallocAsync(&memory, bytes, gpu_.stream());
  if (status == cudaErrorMemoryAllocation) {
    // Freed memory counts as used until the work enqueued before the free is done, as does memory that the pool keeps.
    static_cast<void>(cudaGetLastError());
    check_cuda(cudaStreamSynchronize(gpu_.stream()), "cudaStreamSynchronize", gpu_.device());
    check_cuda(cudaMemPoolTrimTo(pool_, 0), "cudaMemPoolTrimTo", gpu_.device());
    status = cudaMallocAsync(&memory, bytes, gpu_.stream());
  }
  if (status == cudaErrorMemoryAllocation) fail_for(bytes);
  check_cuda(status, "cudaMallocAsync", gpu_.device());
  return memory;
}

void GpuMemory::fail_for(std::size_t bytes) const {
  static_cast<void>(cudaGetLastError());  // clears the error, which later calls would return
  std::size_t left = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&left, &total), "cudaMemGetInfo", gpu_.device());
  fail<OutOfMemory>("{} has no {} bytes left: {} of {} bytes are free", gpu_.device().name(), bytes, left, total);
}

void GpuMemory::release(void* memory, std::size_t) noexcept {
  const cudaError_t current = cudaSetDevice(gpu_.ordinal());
  const cudaError_t freed =
      current == cudaSuccess ? cudaFreeAsync(memory, gpu_.own_stream(StreamKind::compute)) : current;
  if (freed == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  log_warning("cudaFreeAsync failed on {}: {}", gpu_.device().name(), cudaGetErrorString(freed));
}

}  // namespace lockstep
