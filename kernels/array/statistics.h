#pragma once

#include <optional>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Statistics, computed in f32; results have x's dtype if it is f32 or bf16, else f32. Each function reduces either all
// elements, which gives a result of rank 0, or the elements along `axes` (negative axes count from the end); with
// `keepdims` the reduced axes remain with size 1. All are differentiable. Throw InvalidArgument for undefined
// tensors, and axes that x does not have or that are given twice.

namespace lockstep {

///@{
/// The biased variance: the mean of the squared differences from the mean. NaN for no elements.
Tensor var(const Tensor& x);
Tensor var(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
/// The weighted mean along `axis`, or of all elements without an axis: the sum of x * weights, divided by the sum of
/// the weights. The weights have x's dtype and x's shape or, for an axis of size n, the shape (n). Throws
/// InvalidArgument for weights of another shape or dtype.
Tensor average(const Tensor& x, std::optional<int> axis, const Tensor& weights);
///@{
/// The standard deviation, the square root of var. The gradient is NaN where the result is 0, as in TensorFlow. After
/// `using namespace lockstep`, calls must still be qualified: lockstep::std(x).
Tensor std(const Tensor& x);
Tensor std(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
///@{
/// log(sum(exp(x))), computed without overflow for any x. Throws InvalidArgument if a reduced axis has size 0 and the
/// result has elements.
Tensor logsumexp(const Tensor& x);
Tensor logsumexp(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}

}  // namespace lockstep
