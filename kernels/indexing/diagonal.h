#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Diagonals of matrices, as in NumPy. Diagonal k is k columns to the right of the main diagonal; a diagonal outside the
// matrix is empty. The functions are differentiable, and throw InvalidArgument for undefined tensors, for x with fewer
// than two axes (`diag`: other than one or two), and for an axis that is out of range or given twice.

namespace lockstep {

/// Diagonal `offset` of the matrices of x, of any dtype, whose rows are counted along axis1 and whose columns along
/// axis2. The result has the other axes of x, then an axis along the diagonal.
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);
/// The sums of these diagonals, for the dtypes of `sum`.
Tensor trace(const Tensor& x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);
/// The square matrix with the vector x, of any dtype, on diagonal k and zeros elsewhere. If x is a matrix, its diagonal
/// k.
Tensor diag(const Tensor& x, std::int64_t k = 0);

}  // namespace lockstep
