#pragma once

#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {

/// `x` itself if it is f32 or bf16, else x converted to f32 on the calling thread's device, a constant for tapes.
/// Throws InvalidArgument naming the op if x is undefined.
inline Tensor as_real(const char* op, const Tensor& x) try {
  require_defined(op, x);
  return is_real(x.dtype()) ? x : in_dtype(DType::f32, to_current_device(x));
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace lockstep
