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
/// The Euclidean norm (of a matrix, the Frobenius norm): the square root of the sum of squares. The gradient is NaN
/// where the result is 0, as in TensorFlow.
Tensor norm(const Tensor& x);
Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
/// The norm of order `ord` as in NumPy. With one axis, the norm of vectors: sum(|x|^ord)^(1 / ord); for ord infinity
/// and -infinity, the largest and the smallest |x|; for ord 0, the number of nonzero elements. With two axes, the norm
/// of matrices (axes[0]: rows, axes[1]: columns): for ord 1 and -1, the largest and the smallest column sum of |x|; for
/// ord infinity and -infinity, the largest and the smallest row sum. Throws InvalidArgument unless `axes` has one or
/// two entries, and for any other ord of a matrix norm: 2, -2 and NumPy's "nuc" need singular values, which lockstep
/// does not compute. For orders that take the largest or smallest value, also throws it if there are no elements.
Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims, double ord);
///@{
/// log(sum(exp(x))), computed without overflow for any x. Throws InvalidArgument if a reduced axis has size 0 and the
/// result has elements.
Tensor logsumexp(const Tensor& x);
Tensor logsumexp(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}

}  // namespace lockstep
