#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/scan.h>

namespace lockstep {

void CudaBackend::cumulative_sum(const Tensor& x, bool exclusive, bool reverse, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::cumulative_sum(on, x, exclusive, reverse, y);
}

}  // namespace lockstep
