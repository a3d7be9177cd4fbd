#include <utility>

#include <kernels/grid/parity.h>

#include <lockstep/kernels/executor/cuda_executor.cuh>
#include <lockstep/kernels/executor/host_executor.h>

// Replaces CudaExecutor's calls of CUB and of a GPU's copy stream (executor/cuda_executor.cu).

namespace lockstep::cuda {

kernels::SortedKeys CudaExecutor::sort(const Tensor& keys, kernels::Index bound) {
  return kernels::HostExecutor().sort(keys, bound);
}

double CudaExecutor::value_at(const double* pointer) { return *pointer; }

}  // namespace lockstep::cuda

namespace lockstep::test {

std::int64_t first_fault(std::int64_t returned, const std::string& what) {
  IndexFault& fault = *current_gpu().index_fault(what);
  const unsigned long long place = std::exchange(fault.first, IndexFault::none);
  if (returned >= 0) return returned;
  return place == IndexFault::none ? -1 : static_cast<std::int64_t>(place);
}

}  // namespace lockstep::test
