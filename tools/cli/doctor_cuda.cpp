#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

#include "doctor_facts.h"

namespace lockstep::cli {

GpuSoftware gpu_software() {
  GpuSoftware found{
      .cuda = {.built = CUDART_VERSION}, .cudnn = {.built = CUDNN_VERSION}, .nccl = {.built = NCCL_VERSION_CODE}};
  // A library that cannot report its version counts as missing.
  if (cudaRuntimeGetVersion(&found.cuda.loaded) != cudaSuccess) found.cuda.loaded = 0;
  if (cudaDriverGetVersion(&found.driver_supports) != cudaSuccess) found.driver_supports = 0;
  found.cudnn.loaded = static_cast<int>(cudnnGetVersion());
  if (ncclGetVersion(&found.nccl.loaded) != ncclSuccess) found.nccl.loaded = 0;
  return found;
}

}  // namespace lockstep::cli
