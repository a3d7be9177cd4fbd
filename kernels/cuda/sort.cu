#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/sort.h>

namespace lockstep {

void CudaBackend::sort_middle(const Tensor& x, SortDirection direction, const Tensor& values, const Tensor& indices) {
  cuda::CudaExecutor on;
  grid::sort_middle(on, x, direction, values, indices);
}

void CudaBackend::sort_middle_gradient(const Tensor& dy, const Tensor& indices, const Tensor& dx) {
  cuda::CudaExecutor on;
  grid::sort_middle_gradient(on, dy, indices, dx);
}

}  // namespace lockstep
