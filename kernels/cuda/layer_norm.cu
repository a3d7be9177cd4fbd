#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/layer_norm.h>

namespace lockstep {

void CudaBackend::layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon, const Tensor& y,
                             const Tensor& mean, const Tensor& inverse) {
  cuda::CudaExecutor on;
  grid::layer_norm(on, x, gamma, beta, epsilon, y, mean, inverse);
}

void CudaBackend::layer_norm_gradient(const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& inverse,
                                      const Tensor& dy, const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta) {
  cuda::CudaExecutor on;
  grid::layer_norm_gradient(on, x, gamma, mean, inverse, dy, dx, dgamma, dbeta);
}

}  // namespace lockstep
