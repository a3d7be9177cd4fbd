#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Throws InvalidArgument naming the op unless x is a defined f32 tensor.
inline void require_f32(const char* op, const Tensor& x) {
  require(x.defined() && x.dtype() == DType::f32, "{} takes f32, got {}", op, x);
}

/// Throws InvalidArgument naming the op unless x is a defined tensor of f32 or bf16.
inline void require_real(const char* op, const Tensor& x) {
  require(x.defined() && is_real(x.dtype()), "{} takes f32 or bf16, got {}", op, x);
}

}  // namespace lockstep
