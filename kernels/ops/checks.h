#pragma once

#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/runtime/thread/context.h>

namespace lockstep {

/// Throws InvalidArgument naming the op unless x is a defined f32 tensor.
inline void require_f32(const char* op, const Tensor& x) {
  require(x.defined() && x.dtype() == DType::f32, "{} takes f32, got {}", op, x);
}

/// Throws Unsupported naming the op for bf16 on a GPU.
inline void require_f32_on_gpus(const char* op, const Tensor& x) {
  require<Unsupported>(x.dtype() == DType::f32 || current_context().device.kind == DeviceKind::cpu,
                       "{} of bf16 runs on CPUs only, not on a GPU: got {}", op, x);
}

/// Throws InvalidArgument naming the op unless x is a defined tensor of f32 or bf16, and as require_f32_on_gpus.
inline void require_real(const char* op, const Tensor& x) {
  require(x.defined() && is_real(x.dtype()), "{} takes f32 or bf16, got {}", op, x);
  require_f32_on_gpus(op, x);
}

}  // namespace lockstep
