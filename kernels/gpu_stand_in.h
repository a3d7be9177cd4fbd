#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <lockstep/kernels/operand.h>

namespace lockstep {

class WholeRecurrence;

namespace kernels {

/// Runs kernels on the host in place of a GPU, for tests on machines without one: calls Kernel::run or, for a kernel
/// without run(), Kernel::on_cpu (kernel.h).
class GpuStandIn {
 public:
  virtual ~GpuStandIn() = default;

  /// Enqueues `work` on the calling thread's GPU, or adds it to the graph that the thread captures. `work` does not own
  /// the memory that it uses. Throws BrokenInvariant for operands outside the GPU's memory.
  virtual void run(const char* kernel, std::span<const Operand> operands, std::function<void()> work) = 0;
  /// Like run(), but waits until `work` has run.
  virtual void run_now(const char* kernel, std::span<const Operand> operands, const std::function<void()>& work) = 0;
  /// `work` calls this function when the kernel has found an index out of range; `place` is the index's position among
  /// the kernel's indices. The next wait for the GPU then throws.
  virtual void report_out_of_range(const char* kernel, std::int64_t place) = 0;
  /// The implementation that computes a recurrent layer in one call (recurrence/whole_recurrence.h); null if the
  /// stand-in has none.
  virtual WholeRecurrence* whole_recurrence() = 0;

  /// A copy of the kernel for use in `work`: its tensors do not own memory.
  template <class Kernel>
  Kernel deferred(const Kernel& kernel) {
    Kernel result = kernel;
    for (const Operand& operand : result.operands())
      if (operand.tensor != nullptr) const_cast<Tensor&>(*operand.tensor) = deferred_tensor(*operand.tensor);
    return result;
  }

 protected:
  /// A view of the tensor that does not own its memory.
  virtual Tensor deferred_tensor(const Tensor& tensor) = 0;
};

/// The stand-in in use; null if there is none.
GpuStandIn* gpu_stand_in();

/// Makes gpu_stand_in() return `gpu` until the scope ends. Precondition: no kernel runs when the scope begins or ends.
class GpuStandInScope {
 public:
  /// `gpu` must outlive the scope.
  explicit GpuStandInScope(GpuStandIn& gpu);
  ~GpuStandInScope();
  GpuStandInScope(const GpuStandInScope&) = delete;
  GpuStandInScope& operator=(const GpuStandInScope&) = delete;
};

}  // namespace kernels
}  // namespace lockstep
