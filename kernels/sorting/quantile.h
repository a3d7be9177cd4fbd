#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Quantiles of f32 or bf16 tensors, of all elements, which gives a result of rank 0, or of the elements along `axes`
// (negative axes count from the end); with `keepdims` the reduced axes remain with size 1. NaN if one element is NaN.
// Differentiable. Throw InvalidArgument for other dtypes, undefined tensors, axes that x does not have or that are
// given twice, and if there are no elements but the result has elements.

namespace lockstep {

///@{
/// Keras' quantile with its default method: the element at place q * (count - 1) of the sorted elements, interpolated
/// linearly between two elements. Throws InvalidArgument unless 0 <= q <= 1.
Tensor quantile(const Tensor& x, double q);
Tensor quantile(const Tensor& x, double q, const std::vector<int>& axes, bool keepdims = false);
///@}
///@{
/// The middle element of the sorted elements or, if their number is even, the mean of the two middle ones.
Tensor median(const Tensor& x);
Tensor median(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}

}  // namespace lockstep
