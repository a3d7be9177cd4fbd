#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Throws InvalidArgument naming the op unless x is a defined f32 tensor.
inline void require_f32(const char* op, const Tensor& x) {
  require(x.defined() && x.dtype() == DType::f32, "{} takes f32, got {}", op, x);
}

}  // namespace lockstep
