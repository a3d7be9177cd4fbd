#pragma once

#include <cstdint>
#include <optional>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Options of cumsum.
struct CumsumOptions {
  bool exclusive = false;  ///< each sum excludes the element itself, so the first sum is 0
  bool reverse = false;    ///< sums from the end of the axis to its beginning
};

/// Cumulative sum along `axis` (negative axes count from the end): each element plus all before it, in x's shape and
/// dtype, or in i32 for bool. Without an axis, adds all elements in row-major order; the result then has one axis, as
/// in NumPy. Sums of integers and u8 wrap around. Adds f32 and bf16 numbers in f32, in an order that depends only on
/// the shape and the kind of device, so the same input gives the same bits. Differentiable. Throws InvalidArgument for
/// undefined tensors and for an axis that x does not have.
Tensor cumsum(const Tensor& x, std::optional<int> axis = {}, const CumsumOptions& options = {});

/// The differences between each element and its predecessor along `axis`, taken n times, like numpy.diff. Those of bool
/// are true where the elements differ. The result has max(size - n, 0) elements along `axis`. Differentiable. Throws
/// InvalidArgument for undefined tensors, an axis that x does not have and a negative n.
Tensor diff(const Tensor& x, std::int64_t n = 1, int axis = -1);

/// Cumulative product along `axis` (a negative one counts from the end): each element times all before it, in x's shape
/// and dtype, or in i32 for bool. Without an axis, multiplies all elements in row-major order; the result then has one
/// axis. Products of integers and u8 wrap around. Multiplies real numbers in f64 in a fixed order, so
/// the same input gives the same bits. Differentiable, also where elements are 0. Throws InvalidArgument for
/// undefined tensors and for an axis that x does not have.
Tensor cumprod(const Tensor& x, std::optional<int> axis = {});

}  // namespace lockstep
