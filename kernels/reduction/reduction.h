#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Reductions of f32 or bf16 tensors. The order of addition is fixed: the same input gives the same bits. Throw
// InvalidArgument for other dtypes and for axes that x does not have or that are given twice.

namespace lockstep {

///@{
/// Sum of all elements, as a tensor of rank 0; or over `axes` (negative ones count from the end), which remain as axes
/// of size 1 with `keepdims`. The sum of no elements is 0. Differentiable.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
///@{
/// The same for the mean. The mean of no elements is NaN, as in NumPy. Differentiable.
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
/// Index (i64) of the largest element along the last axis, the first one of equals: (..., n) -> (...). Not
/// differentiable. Throws InvalidArgument for rank 0 and for a last axis of size 0.
Tensor argmax(const Tensor& x);

}  // namespace lockstep
