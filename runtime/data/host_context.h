#pragma once

#include <lockstep/runtime/device/context.h>

namespace lockstep::detail {

/// The calling thread's context, with CPU:0 in place of a GPU, for code that writes tensors in host memory. This code
/// ignores a DeviceScope of a GPU, as tf.data ignores tf.device.
inline ExecutionContext host_context() {
  ExecutionContext context = current_context();
  if (context.device.kind == DeviceKind::cpu) return context;
  context.device = {};
  context.placed = false;
  return context;
}

}  // namespace lockstep::detail
