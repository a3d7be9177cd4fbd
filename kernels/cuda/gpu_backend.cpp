#include <lockstep/kernels/built_in_gpu_backend.h>
#include <lockstep/kernels/cuda/cuda_backend.h>

namespace lockstep {

Backend& built_in_gpu_backend() {
  static CudaBackend cuda;
  return cuda;
}

}  // namespace lockstep
