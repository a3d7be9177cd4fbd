#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Quantiles. The result has x's dtype if that is f32 or bf16; for other dtypes it is f32. Each function reduces either
// all elements, which gives a result of rank 0, or the elements along `axes` (negative axes count from the end); with
// `keepdims` the reduced axes remain with size 1. The result is NaN if one element is NaN. Differentiable. Throw
// InvalidArgument for undefined tensors, axes that x does not have or that are given twice, and if a reduced axis has
// size 0 and the result has elements. On GPUs, throw Unsupported for 2^31 elements or more.

namespace lockstep {

///@{
/// Keras' quantile with its default method: the value at index q * (count - 1) of the sorted elements, interpolated
/// linearly between the two neighbors. Throws InvalidArgument unless 0 <= q <= 1.
Tensor quantile(const Tensor& x, double q);
Tensor quantile(const Tensor& x, double q, const std::vector<int>& axes, bool keepdims = false);
///@}
///@{
/// The middle element of the sorted elements or, if their number is even, the mean of the two middle ones.
Tensor median(const Tensor& x);
Tensor median(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}

}  // namespace lockstep
