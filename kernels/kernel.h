#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <lockstep/kernels/gpu_stand_in.h>
#include <lockstep/kernels/operand.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/runtime/trace/trace.h>

// A kernel is a struct of its arguments. Ops check the arguments and allocate the results. Unless a kernel documents
// otherwise, its tensors are dense f32. Terms in the comments of kernels:
//
// - "rows": a layout. The last axis is contiguous, and consecutive rows are a fixed stride apart: at least the size of
//   the last axis, and more in a slice of channels.
// - "f32 or bf16": all tensors are f32 or all are bf16, except that parameters, statistics and their gradients are
//   always f32. The kernel computes in f32 and rounds its results.
//
// clang-format off
//   struct Twice {
//     Tensor x;
//     Tensor y;                                                   // of x's shape
//
//     static constexpr const char* name = "twice";                // in errors and traces
//     auto operands() const { return kernels::operands(x, y); }   // all memory that the kernel reads or writes
//     template <class Executor>
//     void run(Executor& on) const;                               // for both kinds of device (executor/executor.h)
//     void on_cpu() const;                                        // faster than run(); required if there is no run()
//     void on_gpu() const;                                        // calls a library (in cuda/); required if no run()
//   };
// clang-format on
//
// LOCKSTEP_SHARED_KERNEL(Twice) (executor/shared_kernel.h), in the source that defines run(), compiles run() for both
// kinds of device.
//
// A kernel that checks indices returns std::int64_t: the position of the first index out of range, or -1. On GPUs it
// always returns -1, and the next Gpu::synchronize throws instead. A kernel that a CUDA graph cannot repeat, because
// the host waits for its result or because its arguments change from step to step, has the member `capturable = false`.

namespace lockstep::kernels {

namespace detail {

struct AnyExecutor;

/// ResultOf<Kernel>::type is the return type of Kernel::run. It does not exist if Kernel has no run().
template <class Kernel>
struct ResultOf {};
template <class Kernel>
requires requires(const Kernel& kernel, AnyExecutor& on) { kernel.run(on); }
struct ResultOf<Kernel> {
  using type = decltype(std::declval<const Kernel&>().run(std::declval<AnyExecutor&>()));
};

}  // namespace detail

/// Calls Kernel::run on the host.
template <class Kernel>
typename detail::ResultOf<Kernel>::type on_host(const Kernel& kernel);

/// Calls Kernel::run on the calling thread's GPU.
template <class Kernel>
typename detail::ResultOf<Kernel>::type on_gpu(const Kernel& kernel);

namespace detail {

template <class Kernel>
concept Tuned = requires(const Kernel& kernel) {
  kernel.on_cpu();
};

template <class Kernel>
concept Shared = requires(const Kernel& kernel) {
  on_host(kernel);
};

template <class Kernel>
constexpr bool capturable() {
  if constexpr (requires { Kernel::capturable; })
    return Kernel::capturable;
  else
    return true;
}

/// Throws Unsupported: this build has no kernels for GPUs.
[[noreturn]] void no_gpu_kernels();
/// Throws NotCapturable, naming `kernel`, if the calling thread is capturing a CUDA graph.
void refuse_capture_of(const char* kernel);

/// Runs Kernel::run on the host, or Kernel::on_cpu if the kernel has no run().
template <class Kernel>
auto run_shared(const Kernel& kernel) {
  if constexpr (Shared<Kernel>)
    return on_host(kernel);
  else
    return kernel.on_cpu();
}

/// A closure that GpuStandIn (tests without a GPU) can run later. A kernel that holds spans of the caller's arrays
/// defines deferred(), whose closure holds copies of the arrays.
template <class Kernel>
std::function<void()> work_of(GpuStandIn& gpu, const Kernel& kernel) {
  if constexpr (requires { kernel.deferred(); })
    return kernel.deferred();
  else
    return [kernel = gpu.deferred(kernel)] { run_shared(kernel); };
}

template <class Kernel>
auto run_on(GpuStandIn& gpu, const Kernel& kernel) {
  using Result = decltype(run_shared(kernel));
  if constexpr (!capturable<Kernel>()) {
    if constexpr (std::is_void_v<Result>) {
      gpu.run_now(Kernel::name, kernel.operands(), [&] { run_shared(kernel); });
    } else {
      Result result;
      gpu.run_now(Kernel::name, kernel.operands(), [&] { result = run_shared(kernel); });
      return result;
    }
  } else if constexpr (std::is_void_v<Result>) {
    gpu.run(Kernel::name, kernel.operands(), work_of(gpu, kernel));
  } else {
    gpu.run(Kernel::name, kernel.operands(), [&gpu, kernel = gpu.deferred(kernel)] {
      if (const std::int64_t place = run_shared(kernel); place >= 0) gpu.report_out_of_range(Kernel::name, place);
    });
    return Result{-1};
  }
}

}  // namespace detail

/// Runs a kernel on the host, on up to compute_threads() threads (runtime/thread/parallel.h), and returns its result.
template <class Kernel>
auto run_on_cpu(const Kernel& kernel) {
  if constexpr (detail::Tuned<Kernel>)
    return kernel.on_cpu();
  else
    return on_host(kernel);
}

/// Runs a kernel on the calling thread's device and returns its result. On a GPU, enqueues the kernel in the compute
/// stream and waits only if the host needs its result. If contracts are checked (runtime/device/contracts.h), first
/// checks the memory of all operands. Traces show a span with the kernel's name. Throws the kernel's errors,
/// DeviceError and OutOfMemory. On GPUs, also throws BrokenInvariant for a broken contract, NotCapturable if the thread
/// captures and the kernel is not capturable, and Unsupported if this build has no GPU kernels.
template <class Kernel>
auto launch(const Kernel& kernel) {
  const TraceSpan span(Kernel::name);
  if (current_context().device.kind == DeviceKind::cpu) return run_on_cpu(kernel);
  if (contracts::checked()) check_operands(Kernel::name, kernel.operands());
  if constexpr (!detail::capturable<Kernel>()) detail::refuse_capture_of(Kernel::name);
  if (GpuStandIn* const gpu = gpu_stand_in()) return detail::run_on(*gpu, kernel);
#if LOCKSTEP_HAVE_CUDA
  if constexpr (detail::Shared<Kernel>)
    return on_gpu(kernel);
  else
    return kernel.on_gpu();
#else
  detail::no_gpu_kernels();
#endif
}

}  // namespace lockstep::kernels
