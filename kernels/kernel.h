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

// A kernel is a struct of its arguments, which the ops have checked, results allocated. Tensors are dense
// f32 unless a kernel says otherwise; "rows" means that all axes but the last are dense among themselves and only the
// row stride may be wider than the last axis, as in a channel slice. Kernels marked "real" also take bf16 for
// everything but parameters, statistics and their gradients, all of one dtype; they compute in f32 and round results.
//
// clang-format off
//   struct Twice {
//     Tensor x;
//     Tensor y;                                                   // of x's shape
//
//     static constexpr const char* name = "twice";                // in errors and traces
//     auto operands() const { return kernels::operands(x, y); }   // all memory that it reads or writes
//     template <class Executor>
//     void run(Executor& on) const;                               // for both kinds of device (executor/executor.h)
//     void on_host() const;                                       // defined by LOCKSTEP_SHARED_KERNEL(Twice)
//     void on_gpu() const;                                        // defined by it or, on a library, in cuda/
//     void on_cpu() const;                                        // only where something is faster than on_host()
//   };
// clang-format on
//
// A kernel that reads indices returns std::int64_t: the place of the first index that is out of range, or -1; on GPUs
// always -1, since there Gpu::synchronize throws for it. One whose result the host waits for, or whose arguments change
// from step to step, has a member `capturable` that is false.

namespace lockstep::kernels {

namespace detail {

template <class Kernel>
concept Tuned = requires(const Kernel& kernel) {
  kernel.on_cpu();
};

template <class Kernel>
concept Shared = requires(const Kernel& kernel) {
  kernel.on_host();
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
/// Throws NotCapturable while the calling thread captures.
void refuse_capture_of(const char* kernel);

/// The kernel's shared source on the host; of one that has none, what CPUs run.
template <class Kernel>
auto run_shared(const Kernel& kernel) {
  if constexpr (Shared<Kernel>)
    return kernel.on_host();
  else
    return kernel.on_cpu();
}

/// What a stand-in may run later. Kernels that refer to lists of their caller's copy them: their member deferred().
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

/// Runs a kernel on the host with the calling thread's share of the cores. Returns what the kernel returns.
template <class Kernel>
auto run_on_cpu(const Kernel& kernel) {
  if constexpr (detail::Tuned<Kernel>)
    return kernel.on_cpu();
  else
    return kernel.on_host();
}

/// Runs a kernel on the calling thread's device: on a GPU in its compute stream, which is not waited for. Where
/// contracts are checked (runtime/device/contracts.h), all memory of its operands is before. A span of its name
/// in traces. Returns what the kernel returns. Throws what the kernel throws, DeviceError, OutOfMemory, BrokenInvariant
/// for a broken contract, and Unsupported when this build has no kernels for GPUs.
template <class Kernel>
auto launch(const Kernel& kernel) {
  const TraceSpan span(Kernel::name);
  if (current_context().device.kind == DeviceKind::cpu) return run_on_cpu(kernel);
  if (contracts::checked()) check_operands(Kernel::name, kernel.operands());
  if constexpr (!detail::capturable<Kernel>()) detail::refuse_capture_of(Kernel::name);
  if (GpuStandIn* const gpu = gpu_stand_in()) return detail::run_on(*gpu, kernel);
#if LOCKSTEP_HAVE_CUDA
  return kernel.on_gpu();
#else
  detail::no_gpu_kernels();
#endif
}

}  // namespace lockstep::kernels
