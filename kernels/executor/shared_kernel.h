#pragma once

// Sources that host and GPUs share (FAMILY_kernels.cpp) are compiled twice: for the host, and as CUDA with
// LOCKSTEP_KERNELS_OF_GPUS defined for GPUs.
//
// LOCKSTEP_SHARED_KERNEL(Kernel) defines Kernel::on_host() or Kernel::on_gpu(), which calls Kernel::run(executor).

#if defined(LOCKSTEP_KERNELS_OF_GPUS)

#include <lockstep/kernels/executor/cuda_executor.cuh>

#define LOCKSTEP_SHARED_KERNEL(Kernel)                                      \
  decltype(std::declval<const Kernel&>().on_gpu()) Kernel::on_gpu() const { \
    cuda::CudaExecutor on;                                                  \
    return run(on);                                                         \
  }

#else

#include <lockstep/kernels/executor/host_executor.h>

#define LOCKSTEP_SHARED_KERNEL(Kernel)                                        \
  decltype(std::declval<const Kernel&>().on_host()) Kernel::on_host() const { \
    HostExecutor on;                                                          \
    return run(on);                                                           \
  }

#endif
