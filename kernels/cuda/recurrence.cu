#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>
#include <lockstep/kernels/grid/recurrence.h>

namespace lockstep {

void CudaBackend::lstm_step(const Tensor& gates, const Tensor& recurrent, const Tensor& c_before, const Tensor& c,
                            const Tensor& h) {
  cuda::CudaExecutor on;
  grid::lstm_step(on, gates, recurrent, c_before, c, h);
}

void CudaBackend::lstm_step_gradient(const Tensor& gates, const Tensor& c_before, const Tensor& c, const Tensor& dh,
                                     const Tensor& dc, const Tensor& dsums) {
  cuda::CudaExecutor on;
  grid::lstm_step_gradient(on, gates, c_before, c, dh, dc, dsums);
}

void CudaBackend::gru_step(const Tensor& gates, const Tensor& recurrent, const Tensor& h_before,
                           const Tensor& state_sum, const Tensor& h) {
  cuda::CudaExecutor on;
  grid::gru_step(on, gates, recurrent, h_before, state_sum, h);
}

void CudaBackend::gru_step_gradient(const Tensor& gates, const Tensor& state_sum, const Tensor& h_before,
                                    const Tensor& dh, const Tensor& dgates, const Tensor& drecurrent) {
  cuda::CudaExecutor on;
  grid::gru_step_gradient(on, gates, state_sum, h_before, dh, dgates, drecurrent);
}

}  // namespace lockstep
