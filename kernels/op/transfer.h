#pragma once

#include <lockstep/runtime/tensor/tensor.h>

// Copies between devices.

namespace lockstep {

/// Whether kernels of `device` can read x in place: logical CPUs can read each other's memory, GPUs only their own.
inline bool is_reachable(const Tensor& x, const LogicalDevice& device) {
  const LogicalDevice& home = x.device();
  return home == device || (home.kind == DeviceKind::cpu && device.kind == DeviceKind::cpu);
}

/// x on `device`: x itself when it is there, else a dense copy. Of any dtype; differentiable, the gradient is copied
/// back to x's device. Throws OutOfMemory.
Tensor to_device(const Tensor& x, const LogicalDevice& device);

/// x where kernels of `device` can read it: x itself if they can, else a dense copy. Records nothing on tapes.
Tensor reachable_from(const LogicalDevice& device, const Tensor& x);

/// x as an op's operand: inside a DeviceScope on the scope's device; elsewhere x itself where the thread's device can
/// read it, else a copy on that device.
inline Tensor to_current_device(const Tensor& x) {
  const ExecutionContext& context = current_context();
  if (!x.defined() || (!context.placed && is_reachable(x, context.device))) return x;
  return to_device(x, context.device);
}

/// y = x, both of one shape, of any strides, dtypes and devices. Records nothing on tapes. Throws InvalidArgument for
/// different shapes, and for undefined tensors.
void assign(const Tensor& x, const Tensor& y);

}  // namespace lockstep
