#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

///@{
/// The product of all elements or over `axes`, with the arguments, dtypes and errors of max (reduction.h); the product
/// of no elements is 1, and that of integers wraps around. Differentiable: the gradient is that of the product times
/// the other elements, multiplied in f64, also where elements are 0 and where the whole product under- or overflows.
Tensor prod(const Tensor& x);
Tensor prod(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}

}  // namespace lockstep
