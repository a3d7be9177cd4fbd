#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <lockstep/kernels/operand.h>

namespace lockstep {

class WholeRecurrence;

namespace kernels {

/// What runs kernels in place of the GPUs, for tests on machines without one: each kernel is its shared source on the
/// host, or the CPU's where there is none.
class GpuStandIn {
 public:
  virtual ~GpuStandIn() = default;

  /// Runs `work` in order on the calling thread's GPU, or adds it to the graph that the thread captures. The work holds
  /// addresses but no memory. Throws BrokenInvariant for operands that are not in a GPU's memory.
  virtual void run(const char* kernel, std::span<const Operand> operands, std::function<void()> work) = 0;
  /// The same; has run when it returns.
  virtual void run_now(const char* kernel, std::span<const Operand> operands, const std::function<void()>& work) = 0;
  /// A kernel in `work` has met an index out of range at this place: the next wait for the GPU throws.
  virtual void report_out_of_range(const char* kernel, std::int64_t place) = 0;
  /// What runs whole recurrent layers; null: nothing does.
  virtual WholeRecurrence* whole_recurrence() = 0;

  /// The kernel as `work` may hold it.
  template <class Kernel>
  Kernel deferred(const Kernel& kernel) {
    Kernel result = kernel;
    for (const Operand& operand : result.operands())
      if (operand.tensor != nullptr) const_cast<Tensor&>(*operand.tensor) = deferred_tensor(*operand.tensor);
    return result;
  }

 protected:
  /// A view of the tensor's memory that `work` may hold.
  virtual Tensor deferred_tensor(const Tensor& tensor) = 0;
};

/// The one in use, or null.
GpuStandIn* gpu_stand_in();

/// Puts one in use until the scope ends. Not while kernels run.
class GpuStandInScope {
 public:
  /// `gpu` stays until the scope ends.
  explicit GpuStandInScope(GpuStandIn& gpu);
  ~GpuStandInScope();
  GpuStandInScope(const GpuStandInScope&) = delete;
  GpuStandInScope& operator=(const GpuStandInScope&) = delete;
};

}  // namespace kernels
}  // namespace lockstep
