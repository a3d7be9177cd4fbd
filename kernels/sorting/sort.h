#pragma once

#include <lockstep/kernels/sorting/sort_direction.h>
#include <lockstep/runtime/tensor/tensor.h>

// Order of f32 or bf16, the same on every device: NaN counts as larger than all numbers, -0 as equal to 0, and equal
// elements stay in their order. Indices are i64. Gradients go to the original positions; indices have none.

namespace lockstep {

/// The elements along `axis` (a negative one counts from the end) in order. Throws InvalidArgument for an axis that x
/// does not have.
Tensor sort(const Tensor& x, int axis = -1, SortDirection direction = SortDirection::ascending);
/// The indices along `axis` of the elements that sort gives. Not differentiable. Throws as sort.
Tensor argsort(const Tensor& x, int axis = -1, SortDirection direction = SortDirection::ascending);

/// The largest elements and their indices.
struct TopK {
  Tensor values;   ///< the largest first
  Tensor indices;  ///< along the last axis; of equal elements the lower one first
};
/// The k largest elements along the last axis: (..., n) -> (..., k). Throws InvalidArgument unless 1 <= k <= n.
TopK top_k(const Tensor& x, std::int64_t k);

}  // namespace lockstep
