#pragma once

#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

///@{
/// The product of all elements or over `axes`, with the arguments and dtypes of sum (reduction.h); the product of no
/// elements is 1. Products of integers wrap around. Differentiable, even if elements are 0 or the
/// product under- or overflows: the gradient of an element is the product's gradient times the product of all other
/// elements, computed in f64.
Tensor prod(const Tensor& x);
Tensor prod(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}

}  // namespace lockstep
