#pragma once

#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/device/cuda/gpu.h>

// All that executor.cuh asks of CUDA: launches, and what the threads of a block do together. Tests have another file of
// this name, with the same functions (tests/kernels/emulated_gpu).

namespace lockstep::cuda {

/// Threads of every block.
constexpr int block_threads = 256;

/// Enqueues a kernel of this number of blocks in the compute stream of `gpu`, which is current; it is not waited for.
/// Throws DeviceError, NotCapturable.
template <class... Parameters, class... Arguments>
void launch(const Gpu& gpu, void (*kernel)(Parameters...), unsigned blocks, const Arguments&... arguments) {
  kernel<<<blocks, block_threads, 0, gpu.stream()>>>(arguments...);
  check_cuda(cudaGetLastError(), "a kernel's launch");
}

// On a GPU; nothing on the host, for which functions of both are compiled, too.

/// All threads of the block have come here, and see what the others have written before.
LOCKSTEP_HOST_DEVICE inline void block_barrier() {
#if defined(__CUDA_ARCH__)
  __syncthreads();
#endif
}

/// The same of the 32 threads of a warp.
LOCKSTEP_HOST_DEVICE inline void warp_barrier() {
#if defined(__CUDA_ARCH__)
  __syncwarp();
#endif
}

/// Makes *place `value` if that is less, at once for all threads and the host.
LOCKSTEP_HOST_DEVICE inline void lower_to([[maybe_unused]] unsigned long long* place,
                                          [[maybe_unused]] unsigned long long value) {
#if defined(__CUDA_ARCH__)
  atomicMin_system(place, value);
#endif
}

}  // namespace lockstep::cuda
