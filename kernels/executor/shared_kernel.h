#pragma once

#include <lockstep/kernels/kernel.h>

// Sources that host and GPUs share (FAMILY_kernels.cpp) are compiled twice: for the host, and as CUDA with
// LOCKSTEP_KERNELS_OF_GPUS defined for GPUs.
//
// LOCKSTEP_SHARED_KERNEL(Kernel) instantiates on_host(kernel) or on_gpu(kernel) (kernel.h). Write it in namespace
// lockstep::kernels, after the definition of Kernel::run.

#if defined(LOCKSTEP_KERNELS_OF_GPUS)

#include <lockstep/kernels/executor/cuda_executor.cuh>

namespace lockstep::kernels {

template <class Kernel>
typename detail::ResultOf<Kernel>::type on_gpu(const Kernel& kernel) {
  cuda::CudaExecutor on;
  return kernel.run(on);
}

}  // namespace lockstep::kernels

#define LOCKSTEP_SHARED_KERNEL(Kernel) template detail::ResultOf<Kernel>::type on_gpu(const Kernel& kernel);

#else

#include <lockstep/kernels/executor/host_executor.h>

namespace lockstep::kernels {

template <class Kernel>
typename detail::ResultOf<Kernel>::type on_host(const Kernel& kernel) {
  HostExecutor on;
  return kernel.run(on);
}

}  // namespace lockstep::kernels

#define LOCKSTEP_SHARED_KERNEL(Kernel) template detail::ResultOf<Kernel>::type on_host(const Kernel& kernel);

#endif
