#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/norm_limits.h>
#include <lockstep/kernels/grid/reduction.h>

namespace lockstep {

void CudaBackend::sum_middle(const Tensor& x, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::sum_middle(on, x, y);
}

void CudaBackend::argmax(const Tensor& x, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::argmax(on, x, y);
}

void CudaBackend::limit_norms(const Tensor& x, int first, const NormLimits& limits) {
  cuda::CudaExecutor on;
  grid::limit_norms(on, x, first, limits);
}

}  // namespace lockstep
