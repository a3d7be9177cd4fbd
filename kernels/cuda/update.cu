#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/reduction.h>
#include <lockstep/kernels/grid/update.h>

namespace lockstep {

void CudaBackend::reduce(ReduceOp op, const ReduceViews<float>& views) {
  cuda::CudaExecutor on;
  grid::reduce(on, op, views);
}

void CudaBackend::reduce(ReduceOp op, const ReduceViews<bfloat16>& views) {
  cuda::CudaExecutor on;
  grid::reduce(on, op, views);
}

void CudaBackend::reduce(ReduceOp op, const ReduceViews<std::int32_t>& views) {
  cuda::CudaExecutor on;
  grid::reduce(on, op, views);
}

void CudaBackend::reduce(ReduceOp op, const ReduceViews<std::int64_t>& views) {
  cuda::CudaExecutor on;
  grid::reduce(on, op, views);
}

void CudaBackend::update(const OptimizerStep& step, const UpdateViews& views) {
  cuda::CudaExecutor on;
  grid::update(on, step, views);
}

double CudaBackend::squared_norm(const float* x, std::int64_t count) {
  cuda::CudaExecutor on;
  return grid::squared_norm(on, x, count);
}

}  // namespace lockstep
