#include <support/pretend_gpu/kernels.h>
#include <support/pretend_gpu/tensor_at.h>

namespace lockstep::test {

void PretendGpuKernels::run(const char* kernel, std::span<const kernels::Operand> operands,
                            std::function<void()> work) {
  check_memory(kernel, gpus_.memory(), operands);
  gpus_.compute(kernel, std::move(work));
}

void PretendGpuKernels::run_now(const char* kernel, std::span<const kernels::Operand> operands,
                                const std::function<void()>& work) {
  gpus_.launch(kernel);
  const DeviceMemory::Access access(gpus_.memory());
  check_memory(kernel, gpus_.memory(), operands);
  work();
}

Tensor PretendGpuKernels::deferred_tensor(const Tensor& tensor) {
  return gpus_.captures() && tensor.defined() && tensor.elements() > 0 ? tensor_at(tensor) : tensor;
}

}  // namespace lockstep::test
