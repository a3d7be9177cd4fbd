#pragma once

#include <lockstep/runtime/device/context.h>

namespace lockstep::detail {

/// The calling thread's context, with CPU:0 in place of a GPU, for code that writes tensors in host memory: a
/// DeviceScope of the caller does not apply to it, as tf.device does not apply to tf.data.
inline ExecutionContext host_context() {
  ExecutionContext context = current_context();
  if (context.device.kind == DeviceKind::cpu) return context;
  context.device = {};
  context.placed = false;
  return context;
}

}  // namespace lockstep::detail
