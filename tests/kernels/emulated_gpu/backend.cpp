#include <utility>

#include <kernels/grid/host_executor.h>
#include <kernels/grid/parity.h>

#include <lockstep/kernels/cuda/cuda_backend.h>
#include <lockstep/kernels/cuda/executor.cuh>

// CudaBackend without NVIDIA's libraries: its kernels are those of kernels/cuda, what the libraries do throws.

namespace lockstep {
namespace {

[[noreturn]] void not_emulated() { fail<Unsupported>("what NVIDIA's libraries do is not emulated"); }

}  // namespace

namespace cuda {

grid::SortedKeys CudaExecutor::sort(const Tensor& keys, Index bound) { return test::HostExecutor().sort(keys, bound); }

double CudaExecutor::value_at(const double* pointer) { return *pointer; }

}  // namespace cuda

void CudaBackend::conv2d(const Tensor&, const Tensor&, const Tensor&, const Window2d&, Activation, const Tensor&) {
  not_emulated();
}
void CudaBackend::conv2d_gradient_x(const Tensor&, const Tensor&, const Window2d&, Write, const Tensor&) {
  not_emulated();
}
void CudaBackend::conv2d_gradient_kernel(const Tensor&, const Tensor&, const Window2d&, const Tensor&, const Tensor&) {
  not_emulated();
}
void CudaBackend::dense(const Tensor&, const Tensor&, const Tensor&, Activation, const Tensor&) { not_emulated(); }
void CudaBackend::dense_gradient_x(const Tensor&, const Tensor&, Write, const Tensor&) { not_emulated(); }
void CudaBackend::dense_gradient_kernel(const Tensor&, const Tensor&, const Tensor&, const Tensor&) { not_emulated(); }
WholeRecurrence* CudaBackend::whole_recurrence() { return nullptr; }
bool CudnnRecurrence::runs(const RecurrentLayer&) const { return false; }
Tensor CudnnRecurrence::run(const RecurrentLayer&, const Tensor&, const RecurrentWeights&, bool, const Tensor&) {
  not_emulated();
}
void CudnnRecurrence::gradient(const Ran&, const Tensor&, const Tensor&, const RecurrentWeights&) { not_emulated(); }

}  // namespace lockstep

namespace lockstep::test {

Backend& grid_table() {
  static CudaBackend emulated;
  return emulated;
}

std::int64_t first_fault(std::int64_t returned, const std::string& what) {
  IndexFault& taken_down = *current_gpu().index_fault(what);
  const unsigned long long place = std::exchange(taken_down.first, IndexFault::none);
  if (returned >= 0) return returned;
  return place == IndexFault::none ? -1 : static_cast<std::int64_t>(place);
}

}  // namespace lockstep::test
