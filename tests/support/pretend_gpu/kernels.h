#pragma once

#include <support/pretend_gpu/computing.h>
#include <support/pretend_gpu/recurrence.h>

#include <lockstep/kernels/gpu_stand_in.h>

namespace lockstep::test {

/// Runs kernels for the GPUs of PretendCuda: executes on the host, with access to the GPUs' memory, the code that CPU
/// and GPU kernels share.
class PretendGpuKernels final : public kernels::GpuStandIn {
 public:
  explicit PretendGpuKernels(PretendGpuComputing& gpus) : gpus_(gpus), recurrence_(gpus) {}

  void run(const char* kernel, std::span<const kernels::Operand> operands, std::function<void()> work) override;
  void run_now(const char* kernel, std::span<const kernels::Operand> operands,
               const std::function<void()>& work) override;
  void report_out_of_range(const char* kernel, std::int64_t place) override {
    PretendGpuComputing::report_out_of_range(kernel, place);
  }
  WholeRecurrence* whole_recurrence() override { return &recurrence_; }

 protected:
  Tensor deferred_tensor(const Tensor& tensor) override;

 private:
  PretendGpuComputing& gpus_;
  PretendGpuRecurrence recurrence_;
};

}  // namespace lockstep::test
