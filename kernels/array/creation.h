#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// NumPy's functions that create tensors, in addition to Tensor's functions. Results are dense; numbers are computed in
// double precision and then converted to the dtype.

namespace lockstep {

///@{
/// The numbers start, start + step, start + 2 step, ... up to but excluding `stop`, on the calling thread's device;
/// `start` defaults to 0. For integer dtypes, the numbers are truncated toward 0. Throw InvalidArgument for a step of
/// 0, for arguments that are not finite, for numbers that an integer dtype or bool cannot represent, and if the result
/// would have 2^62 numbers or more.
Tensor arange(double start, double stop, double step = 1, DType dtype = DType::f32);
inline Tensor arange(double stop, DType dtype = DType::f32) { return arange(0, stop, 1, dtype); }
///@}
/// `count` evenly spaced numbers from `start` to `stop`, on the calling thread's device. The last number is `stop` if
/// `endpoint` is true and count > 1; otherwise `stop` is excluded. For integer dtypes, the numbers are truncated toward
/// 0. Throws InvalidArgument for a negative count, for arguments that are not finite and for numbers beyond the range
/// of an integer dtype or bool.
Tensor linspace(double start, double stop, std::int64_t count = 50, bool endpoint = true, DType dtype = DType::f32);
///@{
/// A tensor of x's shape, dtype and device whose elements are all `value` (full_like), 0 (zeros_like) or 1 (ones_like).
/// Throw InvalidArgument for an undefined tensor and for a value that an integer dtype or bool cannot represent.
Tensor full_like(const Tensor& x, double value);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
///@}

}  // namespace lockstep
