#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Reductions of f32 or bf16. The order of addition is fixed: the same input gives the same bits. An empty sum
// is 0.

namespace lockstep {

///@{
/// Sum of all elements, as a scalar; or over `axes` (negative ones count from the end), which `keepdims` keeps as
/// size 1.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
///@{
/// The same for the mean, which is NaN for no elements, as in NumPy.
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
/// Index (i64) of the first largest element along the last axis: (..., n) -> (...). Not differentiable.
Tensor argmax(const Tensor& x);

}  // namespace lockstep
