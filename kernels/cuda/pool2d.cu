#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/pool2d.h>

namespace lockstep {

void CudaBackend::max_pool2d(const Tensor& x, const Window2d& window, const Tensor& y, const Tensor& places) {
  cuda::CudaExecutor on;
  grid::max_pool2d(on, x, window, y, places);
}

void CudaBackend::max_pool2d_gradient(const Tensor& places, const Window2d& window, const Tensor& dy,
                                      const Tensor& dx) {
  cuda::CudaExecutor on;
  grid::max_pool2d_gradient(on, places, window, dy, dx);
}

void CudaBackend::average_pool2d(const Tensor& x, const Window2d& window, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::average_pool2d(on, x, window, y);
}

void CudaBackend::average_pool2d_gradient(const Tensor& dy, const Window2d& window, const Tensor& dx) {
  cuda::CudaExecutor on;
  grid::average_pool2d_gradient(on, dy, window, dx);
}

}  // namespace lockstep
