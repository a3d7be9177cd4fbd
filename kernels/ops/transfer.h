#pragma once

#include <lockstep/runtime/tensor/tensor.h>

// Copies between devices.

namespace lockstep {

/// x on `device`: x itself when it is there, else a dense copy. Of any dtype; differentiable, the gradient is copied
/// back to x's device. Throws OutOfMemory.
Tensor to_device(const Tensor& x, const LogicalDevice& device);

/// x as an op reads it: inside a DeviceScope on the scope's device. Elsewhere x itself: logical CPUs reach each other's
/// memory, and what nobody placed is not worth a copy.
inline Tensor to_current_device(const Tensor& x) {
  const ExecutionContext& context = current_context();
  return context.placed && x.defined() ? to_device(x, context.device) : x;
}

}  // namespace lockstep
