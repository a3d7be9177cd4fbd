#pragma once

#include <string_view>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

// Norms, computed in f32; results have x's dtype if it is f32 or bf16, else f32. Negative axes count from the end; with
// `keepdims` the reduced axes remain with size 1. All are differentiable. Throw InvalidArgument for undefined tensors,
// and axes that x does not have or that are given twice.

namespace lockstep {

///@{
/// The Euclidean norm of all elements, which gives a result of rank 0, or along `axes`: the square root of the sum of
/// squares. The gradient is NaN where the result is 0, as in TensorFlow.
Tensor norm(const Tensor& x);
Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims = false);
///@}
/// The norm of order `ord` as in NumPy. With one axis, the norm of vectors: sum(|x|^ord)^(1 / ord); for ord infinity
/// and -infinity, the largest and the smallest |x|; for ord 0, the number of nonzero elements. With two axes, the norm
/// of matrices (axes[0]: rows, axes[1]: columns): for ord 1 and -1, the largest and the smallest column sum of |x|; for
/// ord infinity and -infinity, the largest and the smallest row sum; for ord 2 and -2, the largest and the smallest
/// singular value (svd.h). Throws InvalidArgument unless `axes` has one or two entries, and for any other ord of a
/// matrix norm. For orders that take the largest or smallest value, also throws it if there are no elements.
Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims, double ord);
/// A norm of matrices by its name in NumPy: "fro" for the Euclidean norm, which is Frobenius', "nuc" for the nuclear
/// norm, the sum of the singular values (svd.h). Throws InvalidArgument for other names and unless `axes` has two
/// entries.
Tensor norm(const Tensor& x, const std::vector<int>& axes, bool keepdims, std::string_view ord);

}  // namespace lockstep
