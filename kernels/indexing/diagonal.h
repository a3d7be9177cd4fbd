#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Diagonals of matrices, as in NumPy. Diagonal k is k columns to the right of the main diagonal; a diagonal outside the
// matrix is empty. The functions are differentiable. diagonal and trace throw InvalidArgument for an undefined x, for x
// with fewer than two axes, and for an axis that is out of range or given twice.

namespace lockstep {

/// Diagonal `offset` of each matrix of x, of any dtype; row indices run along axis1 and column indices along axis2.
/// The result has the other axes of x, then an axis along the diagonal.
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);
/// The sums of the elements that `diagonal` returns, over its last axis. Takes the dtypes of `sum` (reduction.h).
Tensor trace(const Tensor& x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);
/// For a vector x, of any dtype, the square matrix with x on diagonal k and zeros elsewhere; for a matrix x, its
/// diagonal k. Throws InvalidArgument for an undefined x, for other numbers of axes, and for a vector x if k is not
/// between -2^61 and 2^61.
Tensor diag(const Tensor& x, std::int64_t k = 0);

}  // namespace lockstep
