#pragma once

#include <lockstep/kernels/sorting/sort_direction.h>
#include <lockstep/runtime/tensor/tensor.h>

// Sorting of tensors of any dtype. The order is the same on every device: NaN is larger than all numbers, -0 equals 0,
// false is less than true, and equal elements keep their order. Indices are i64 and not differentiable. Sorted f32 and
// bf16 values are differentiable. Throw InvalidArgument for undefined tensors and, on GPUs, Unsupported for 2^31
// elements or more.

namespace lockstep {

/// x with its elements sorted along `axis`, which counts from the end if negative. Throws InvalidArgument for an axis
/// that x does not have.
Tensor sort(const Tensor& x, int axis = -1, SortDirection direction = SortDirection::ascending);
/// The indices along `axis` that sort x: take_along_axis(x, argsort(x, axis), axis) equals sort(x, axis). Has x's
/// shape. Throws the errors of sort.
Tensor argsort(const Tensor& x, int axis = -1, SortDirection direction = SortDirection::ascending);

/// The largest elements and their indices.
struct TopK {
  Tensor values;   ///< largest first
  Tensor indices;  ///< along the last axis; equal elements in order of index
};
/// The k largest elements along the last axis: (..., n) -> (..., k). Throws InvalidArgument for rank 0, for k < 1 and
/// for k > n.
TopK top_k(const Tensor& x, std::int64_t k);

}  // namespace lockstep
