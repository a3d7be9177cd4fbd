#pragma once

#include <optional>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Statistics of f32 or bf16 tensors, computed in f32; results have x's dtype. Each function reduces either all
// elements, which gives a result of rank 0, or the elements along `axes` (negative axes count from the end); with
// `keepdims` the reduced axes remain with size 1. All are differentiable. Throw InvalidArgument for other dtypes,
// undefined tensors, and axes that x does not have or that are given twice.

namespace lockstep {

///@{
/// The biased variance: the mean of the squared differences from the mean. NaN for no elements.
Tensor var(const Tensor& x);
Tensor var(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
/// The mean of x with `weights` of x's dtype and shape or, with an axis, a number for each element along it: the sum of
/// x * weights, divided by the sum of the weights. Throws InvalidArgument for other weights.
Tensor average(const Tensor& x, std::optional<int> axis, const Tensor& weights);
///@{
/// The standard deviation, the square root of var. The gradient is NaN where the result is 0, as in TensorFlow. After
/// `using namespace lockstep`, calls must still be qualified: lockstep::std(x).
Tensor std(const Tensor& x);
Tensor std(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
///@{
/// The Euclidean norm (of a matrix, the Frobenius norm): the square root of the sum of squares. The gradient is NaN
/// where the result is 0, as in TensorFlow.
Tensor norm(const Tensor& x);
Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
/// The norm of order `ord` as in NumPy. Along one axis, of vectors: the sum of |x|^ord to the power 1 / ord, the
/// largest |x| for infinity, the smallest for -infinity, the number of elements that are not 0 for 0. Along two axes,
/// of matrices with rows along the first one: the largest sum of a column of |x| for 1, and of a row for infinity; the
/// smallest for -1 and -infinity. Throws InvalidArgument for other numbers of axes and other orders.
Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims, double ord);
///@{
/// log(sum(exp(x))), computed without overflow for any x. Throws InvalidArgument if a reduced axis has size 0 and the
/// result has elements.
Tensor logsumexp(const Tensor& x);
Tensor logsumexp(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}

}  // namespace lockstep
