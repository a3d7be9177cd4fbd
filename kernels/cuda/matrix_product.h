#pragma once

#include <compare>
#include <cstdint>

namespace lockstep::cublas {

/// D (m, n) = op(A) (m, k) op(B) (k, n) of f32 matrices whose columns lie one behind the other, as BLAS has them. A
/// tensor (rows, columns) is to BLAS its transpose, a matrix of `columns` rows: the products below are the transposed
/// ones. Also the key of the product's plan.
struct MatrixProduct {
  std::int64_t m, n, k;  ///< rows and columns of D, and the length of the sums
  ///@{
  /// Whether the operand in memory is the transpose of what is multiplied.
  bool transpose_a = false, transpose_b = false;
  ///@}
  ///@{
  /// Elements from one column to the next, in memory.
  std::int64_t lda, ldb, ldd;
  ///@}
  bool bias = false;  ///< a vector (m) is added to every column

  /// By all of it.
  friend auto operator<=>(const MatrixProduct&, const MatrixProduct&) = default;
};

/// y (n, out) from A = kernel (in, out) and B = x (n, in); a bias (out).
constexpr MatrixProduct dense_product(std::int64_t n, std::int64_t in, std::int64_t out, bool bias) {
  return {.m = out, .n = n, .k = in, .lda = out, .ldb = in, .ldd = out, .bias = bias};
}

/// dx (n, in) from A = kernel (in, out) and B = dy (n, out).
constexpr MatrixProduct dense_gradient_x_product(std::int64_t n, std::int64_t in, std::int64_t out) {
  return {.m = in, .n = n, .k = out, .transpose_a = true, .lda = out, .ldb = out, .ldd = in};
}

/// dkernel (in, out) from A = dy (n, out) and B = x (n, in).
constexpr MatrixProduct dense_gradient_kernel_product(std::int64_t n, std::int64_t in, std::int64_t out) {
  return {.m = out, .n = in, .k = n, .transpose_b = true, .lda = out, .ldb = in, .ldd = out};
}

}  // namespace lockstep::cublas
