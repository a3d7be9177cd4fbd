#pragma once

#include <lockstep/runtime/tensor/tensor.h>

// Copies of tensors between devices.

namespace lockstep {

/// Whether kernels of `device` can read x in place: logical CPUs can read each other's memory, GPUs only their own.
inline bool is_reachable(const Tensor& x, const LogicalDevice& device) {
  const LogicalDevice& home = x.device();
  return home == device || (home.kind == DeviceKind::cpu && device.kind == DeviceKind::cpu);
}

/// x, of any dtype, on `device`: x itself when it is there, else a dense copy. Differentiable: the gradient is copied
/// back to x's device. Throws InvalidArgument if x is undefined, and OutOfMemory if `device` lacks memory.
Tensor to_device(const Tensor& x, const LogicalDevice& device);

/// x itself if kernels of `device` can read it, else a dense copy on `device`. Records nothing on tapes.
Tensor reachable_from(const LogicalDevice& device, const Tensor& x);

/// Returns x as an op's operand. Inside a DeviceScope, this is x on the scope's device. Otherwise, it is x itself if
/// the thread's device can read x, else a copy on that device. Undefined tensors are returned as they are.
inline Tensor to_current_device(const Tensor& x) {
  const ExecutionContext& context = current_context();
  if (!x.defined() || (!context.placed && is_reachable(x, context.device))) return x;
  return to_device(x, context.device);
}

/// Copies x to y, converting the dtype. x and y may have any strides and devices. Records nothing on tapes. Throws
/// InvalidArgument for different shapes and for undefined tensors.
void assign(const Tensor& x, const Tensor& y);

}  // namespace lockstep
