#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/rows.h>

namespace lockstep {

std::int64_t CudaBackend::gather_rows(const Tensor& x, const Tensor& indices, const Tensor& y) {
  cuda::CudaExecutor on;
  return grid::gather_rows(on, x, indices, y);
}

std::int64_t CudaBackend::scatter_add_rows(const Tensor& values, const Tensor& indices, const Tensor& out) {
  cuda::CudaExecutor on;
  return grid::scatter_add_rows(on, values, indices, out);
}

}  // namespace lockstep
