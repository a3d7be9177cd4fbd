#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/convert.h>
#include <lockstep/kernels/grid/elementwise.h>

namespace lockstep {

void CudaBackend::unary(const UnaryFunction& f, const Tensor& x, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::unary(on, f, x, y);
}

void CudaBackend::unary_gradient(const UnaryFunction& f, const Tensor& kept, const Tensor& dy, const Tensor& dx) {
  cuda::CudaExecutor on;
  grid::unary_gradient(on, f, kept, dy, dx);
}

void CudaBackend::binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  cuda::CudaExecutor on;
  grid::binary(on, op, a, b, out);
}

void CudaBackend::affine(const Tensor& x, float scale, float shift, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::affine(on, x, scale, shift, y);
}

void CudaBackend::accumulate(const Tensor& x, int sign, const Tensor& out) {
  cuda::CudaExecutor on;
  grid::accumulate(on, x, sign, out);
}

void CudaBackend::convert(const Tensor& x, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::convert(on, x, y);
}

void CudaBackend::fill(const Tensor& x, float value) {
  cuda::CudaExecutor on;
  grid::fill(on, x, value);
}

void CudaBackend::moving_average(const Tensor& average, const Tensor& value, float momentum) {
  cuda::CudaExecutor on;
  grid::moving_average(on, average, value, momentum);
}

void CudaBackend::dropout(const Tensor& x, float rate, const RandomKey& key, const Tensor& y) {
  cuda::CudaExecutor on;
  grid::dropout(on, x, rate, key, y);
}

}  // namespace lockstep
