#pragma once

#include <compare>
#include <cstdint>

#include <lockstep/runtime/core/dtype.h>

namespace lockstep::cublas {

/// What is done in the pass of a product, by cuBLASLt's names. The library has others that dense.h has no use for:
/// its gelu is the approximation, whose gradient does not follow from its result; what comes before an activation's
/// gradient (DRELU) is the product of another op, which would have to know the bits that this one has kept.
enum class Epilogue {
  none,       ///< nothing
  bias,       ///< a vector (m) is added to every column
  relu,       ///< max(0, x) of every element
  relu_bias,  ///< the bias, then relu
  bgrada      ///< the sums (m) of the rows of op(A) are written, too: where A is dy, a bias' gradient
};

/// D (m, n) = op(A) (m, k) op(B) (k, n) of matrices whose columns lie one behind the other, as BLAS has them, summed in
/// f32. A tensor (rows, columns) is to BLAS its transpose, a matrix of `columns` rows: the products below are the
/// transposed ones. Also the key of the product's plan.
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
  Epilogue epilogue = Epilogue::none;  ///< what else is done
  ///@{
  /// f32 or bf16: of A and B; of D and, as cuBLASLt wants it, of the epilogue's vector.
  DType operands = DType::f32, result = DType::f32;
  ///@}

  ///@{
  /// Elements from the first to the last of A's and B's matrices in memory, and of D.
  constexpr std::int64_t a_elements() const { return extent(transpose_a ? k : m, transpose_a ? m : k, lda); }
  constexpr std::int64_t b_elements() const { return extent(transpose_b ? n : k, transpose_b ? k : n, ldb); }
  constexpr std::int64_t d_elements() const { return extent(m, n, ldd); }
  ///@}

  /// By all of it.
  friend auto operator<=>(const MatrixProduct&, const MatrixProduct&) = default;

 private:
  static constexpr std::int64_t extent(std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    return (columns - 1) * stride + rows;
  }
};

/// y (n, out) from A = kernel (in, out) and B = x (n, in); a bias (out). All of `dtype`.
constexpr MatrixProduct dense_product(std::int64_t n, std::int64_t in, std::int64_t out, Epilogue epilogue,
                                      DType dtype) {
  return {.m = out,
          .n = n,
          .k = in,
          .lda = out,
          .ldb = in,
          .ldd = out,
          .epilogue = epilogue,
          .operands = dtype,
          .result = dtype};
}

/// dx (n, in) from A = kernel (in, out) and B = dy (n, out). All of `dtype`.
constexpr MatrixProduct dense_gradient_x_product(std::int64_t n, std::int64_t in, std::int64_t out, DType dtype) {
  return {.m = in,
          .n = n,
          .k = out,
          .transpose_a = true,
          .lda = out,
          .ldb = out,
          .ldd = in,
          .operands = dtype,
          .result = dtype};
}

/// dkernel (in, out), f32, from A = dy (n, out) and B = x (n, in) of `dtype`; with bgrada dbias (out), f32, too. The
/// library has that for A as it is in memory only, as here.
constexpr MatrixProduct dense_gradient_kernel_product(std::int64_t n, std::int64_t in, std::int64_t out,
                                                      Epilogue epilogue, DType dtype) {
  return {.m = out,
          .n = in,
          .k = n,
          .transpose_b = true,
          .lda = out,
          .ldb = in,
          .ldd = out,
          .epilogue = epilogue,
          .operands = dtype};
}

}  // namespace lockstep::cublas
