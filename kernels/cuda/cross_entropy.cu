#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/cross_entropy.h>
#include <lockstep/kernels/grid/elementwise.h>

namespace lockstep {

void CudaBackend::softmax(const Tensor& logits, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::softmax(on, logits, y);
}

void CudaBackend::softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  cuda::CudaExecutor on;
  grid::softmax_gradient(on, y, dy, dx);
}

void CudaBackend::log_softmax(const Tensor& logits, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::log_softmax(on, logits, y);
}

void CudaBackend::log_softmax_gradient(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  cuda::CudaExecutor on;
  grid::log_softmax_gradient(on, y, dy, dx);
}

std::int64_t CudaBackend::sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels, const Tensor& loss,
                                                       const Tensor& probabilities) {
  cuda::CudaExecutor on;
  return grid::sparse_softmax_cross_entropy(on, logits, labels, loss, probabilities);
}

void CudaBackend::sparse_softmax_cross_entropy_gradient(const Tensor& probabilities, const Tensor& labels,
                                                        const Tensor& dloss, const Tensor& dx) {
  cuda::CudaExecutor on;
  grid::sparse_softmax_cross_entropy_gradient(on, probabilities, labels, dloss, dx);
}

void CudaBackend::binary_cross_entropy(bool from_logits, const Tensor& x, const Tensor& targets, const Tensor& loss) {
  cuda::CudaExecutor on;
  grid::binary_cross_entropy(on, from_logits, x, targets, loss);
}

void CudaBackend::binary_cross_entropy_gradient(bool from_logits, const Tensor& x, const Tensor& targets,
                                                const Tensor& dloss, const Tensor& dx) {
  cuda::CudaExecutor on;
  grid::binary_cross_entropy_gradient(on, from_logits, x, targets, dloss, dx);
}

}  // namespace lockstep
