#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/batch_norm.h>
#include <lockstep/kernels/grid/moments.h>

namespace lockstep {

void CudaBackend::channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) {
  cuda::CudaExecutor on;
  grid::channel_moments(on, x, mean, variance);
}

void CudaBackend::batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                             const Tensor& variance, float epsilon, bool relu, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::batch_norm(on, x, gamma, beta, mean, variance, epsilon, relu, y);
}

void CudaBackend::merge_moments(const Tensor& parts, const Tensor& mean, const Tensor& variance) {
  cuda::CudaExecutor on;
  grid::merge_moments(on, parts, mean, variance);
}

void CudaBackend::batch_norm_gradient_sums(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                           const Tensor& variance, float epsilon, bool relu, const Tensor& dy,
                                           const Tensor& dgamma, const Tensor& dbeta) {
  cuda::CudaExecutor on;
  grid::batch_norm_gradient_sums(on, x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta);
}

void CudaBackend::batch_norm_gradient_x(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                        const Tensor& variance, float epsilon, bool relu, const Tensor& dy,
                                        const Tensor& dgamma, const Tensor& dbeta, std::int64_t count,
                                        const Tensor& dx) {
  cuda::CudaExecutor on;
  grid::batch_norm_gradient_x(on, x, gamma, beta, mean, variance, epsilon, relu, dy, dgamma, dbeta, count, dx);
}

}  // namespace lockstep
