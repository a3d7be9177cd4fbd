#pragma once

#include <type_traits>

#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/device/cuda/gpu.h>

// All uses of CUDA by cuda_executor.cuh: launches and barriers of the threads of a block. Tests have another file of
// this name with the same functions (tests/kernels/emulated_gpu).

namespace lockstep::cuda {

/// Number of threads of every block.
constexpr int block_threads = 256;

/// Like the template below, for a kernel with its arguments' addresses. Not a template, so that the call of CUDA is
/// compiled once and not for every kernel. Defined in cuda_executor.cu.
void launch(const Gpu& gpu, const void* kernel, unsigned blocks, void** arguments);

/// Enqueues a kernel with `blocks` blocks in the compute stream of `gpu`, which must be current. Does not wait for it.
/// Throws DeviceError, NotCapturable.
template <class... Parameters>
void launch(const Gpu& gpu, void (*kernel)(Parameters...), unsigned blocks,
            const std::type_identity_t<Parameters>&... arguments) {
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  launch(gpu, reinterpret_cast<const void*>(kernel), blocks, addresses);
}

/// Number of blocks of `kernel` that the GPU can run concurrently. Throws DeviceError.
template <class... Parameters>
int resident_blocks(const Gpu& gpu, void (*kernel)(Parameters...)) {
  int multiprocessors = 0;
  int blocks = 0;
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu.ordinal()),
             "cudaDeviceGetAttribute");
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block_threads, 0),
             "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks * multiprocessors;
}

// These functions do nothing on the host, for which LOCKSTEP_HOST_DEVICE functions are also compiled.

/// Waits for all threads of the block, and makes their earlier writes visible to each other.
LOCKSTEP_HOST_DEVICE inline void block_barrier() {
#if defined(__CUDA_ARCH__)
  __syncthreads();
#endif
}

/// Waits for all 32 threads of the warp, and makes their earlier writes visible to each other.
LOCKSTEP_HOST_DEVICE inline void warp_barrier() {
#if defined(__CUDA_ARCH__)
  __syncwarp();
#endif
}

/// *place = min(*place, value), atomically with respect to all threads and the host.
LOCKSTEP_HOST_DEVICE inline void lower_to([[maybe_unused]] unsigned long long* place,
                                          [[maybe_unused]] unsigned long long value) {
#if defined(__CUDA_ARCH__)
  atomicMin_system(place, value);
#endif
}

}  // namespace lockstep::cuda
