#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Throws InvalidArgument naming the op unless x is a defined tensor.
inline void require_defined(const char* op, const Tensor& x) {
  require(x.defined(), "{} takes a tensor, got an undefined one", op);
}

/// Throws InvalidArgument naming the op unless x is a defined f32 tensor.
inline void require_f32(const char* op, const Tensor& x) {
  require(x.defined() && x.dtype() == DType::f32, "{} takes f32, got {}", op, x);
}

/// Throws InvalidArgument naming the op unless x is a defined tensor of f32 or bf16.
inline void require_real(const char* op, const Tensor& x) {
  require(x.defined() && is_real(x.dtype()), "{} takes f32 or bf16, got {}{}", op, x, x.defined() ? "; cast it" : "");
}

/// Throws InvalidArgument naming the op unless x is a defined tensor of f32, bf16, i32 or i64.
inline void require_number(const char* op, const Tensor& x) {
  require(x.defined() && (is_real(x.dtype()) || is_integer(x.dtype())), "{} takes f32, bf16, i32 or i64, got {}{}", op,
          x, x.defined() ? "; cast it" : "");
}

/// Throws InvalidArgument naming the op if x, a defined tensor, is bool.
inline void require_no_bool(const char* op, const Tensor& x) {
  require(x.dtype() != DType::boolean, "{} takes f32, bf16, i32, i64 or u8, got {}; cast it", op, x);
}

/// Throws InvalidArgument naming the op unless both are defined tensors of one dtype.
inline void require_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  require(a.defined() && b.defined(), "{} takes two tensors, got {} and {}", op, a, b);
  require(a.dtype() == b.dtype(), "{} takes tensors of one dtype, got {} and {}; cast one of them", op, a, b);
}

}  // namespace lockstep
