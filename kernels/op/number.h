#pragma once

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/core/dtype.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// `number` as a tensor of rank 0 and of x's dtype on the calling thread's device. A kernel fills it, because a CUDA
/// graph cannot repeat a copy from the host. Throws InvalidArgument naming the op if the dtype cannot represent it.
inline Tensor number_like(const char* op, const Tensor& x, double number) try {
  require(x.defined(), "{} takes a tensor, got {}", op, x);
  require(holds(x.dtype(), number), "{} with {} needs a dtype that can represent it, such as f32, got {}", op, number,
          x);
  const Tensor result = Tensor::empty({}, x.dtype());
  launch(kernels::Fill{result, number});
  return result;
} catch (Error& error) {
  rethrow_from(op, error);
}

/// Whether `dtype` is u8 or bool, whose sums, products and scans are computed in i32.
constexpr bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::boolean; }

///@{
/// `x` itself, or x converted to i32 on the calling thread's device if it is u8 or bool (counted), or if it is bool
/// (bool_counted).
inline Tensor counted(const Tensor& x) { return is_byte(x.dtype()) ? in_dtype(DType::i32, to_current_device(x)) : x; }
inline Tensor bool_counted(const Tensor& x) { return x.dtype() == DType::boolean ? counted(x) : x; }
///@}

}  // namespace lockstep
