#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

///@{
/// The product of all elements or over `axes`, with the arguments, dtypes and errors of max (reduction.h); the product
/// of no elements is 1, and products of integers wrap around. Differentiable: the gradient of an element is the
/// product's gradient times all other elements, multiplied in f64, also where elements are 0 and where the whole
/// product under- or overflows.
Tensor prod(const Tensor& x);
Tensor prod(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}

}  // namespace lockstep
