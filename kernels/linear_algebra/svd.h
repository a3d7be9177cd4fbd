#pragma once

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Factors of matrices (..., m, n); k is min(m, n).
struct Svd {
  Tensor u;   ///< (..., m, k): left singular vectors as columns, orthonormal; zeros where the singular value is 0
  Tensor s;   ///< (..., k): singular values, in descending order
  Tensor vh;  ///< (..., k, n): right singular vectors as rows, orthonormal
};

/// The singular value decomposition of each matrix of x (..., m, n), like numpy.linalg.svd without full_matrices:
/// x = matmul(u * expand_dims(s, -2), vh). If m < n, the vectors in vh are zeros where the singular value is 0, and
/// those in u are orthonormal. The signs of pairs of singular vectors are arbitrary. If an element of a matrix is NaN
/// or infinite, all its factors are NaN. Computed in f64; the factors have x's dtype if it is f32 or bf16, else f32.
/// Made for small matrices: the time grows with m n k, and a GPU computes each matrix on one multiprocessor.
/// Differentiable; as in TensorFlow, the gradients of singular vectors whose singular values are equal are wrong, since
/// these vectors are not determined. Throws InvalidArgument for undefined tensors and fewer than two axes.
Svd svd(const Tensor& x);

}  // namespace lockstep
