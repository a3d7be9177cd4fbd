#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Matrix product with the rules of NumPy's matmul: a (..., m, k) and b (..., k, n) -> (..., m, n), where the leading
/// axes broadcast. A vector a (k) counts as a matrix of one row, a vector b (k) as a matrix of one column; the result
/// lacks the axis of that row or column. a and b have the same dtype, which is also the result's. Products of f32 and
/// bf16 are added in f32. Differentiable. Integers and u8 wrap around on overflow; an element of a product of bool is
/// true if any of its products is. Transposed views (transpose) are not copied, except for an `a` of rank 3 or more if
/// b is a matrix or a vector. Throws InvalidArgument for different dtypes (cast one), undefined tensors, tensors of
/// rank 0, sizes k that differ, and leading axes that do not broadcast.
Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace lockstep
