#pragma once

#include <compare>
#include <cstdint>

#include <lockstep/runtime/core/dtype.h>

namespace lockstep::cublas {

/// Operations fused into a product, with cuBLASLt's names. The epilogues of GELU are not used because they compute only
/// the tanh approximation, whose gradient cannot be computed from the result. DRELU, the gradient of a ReLU, is not
/// used: it needs a mask that the forward product must write, and it can be fused only into the product that computes
/// dy, which belongs to another op.
enum class Epilogue {
  none,       ///< nothing
  bias,       ///< a vector (m) is added to every column
  relu,       ///< max(0, x) of every element
  relu_bias,  ///< the bias, then relu
  bgrada      ///< also writes the row sums (m) of op(A), which are the bias gradient if A is dy
};

/// D (m, n) = op(A) (m, k) op(B) (k, n) for column-major matrices, as in BLAS, accumulated in f32. BLAS reads a
/// row-major tensor (rows, columns) as its transpose (columns, rows), so the functions below compute the transposes of
/// the ops' products. MatrixProduct is also the key of plans.
struct MatrixProduct {
  std::int64_t m, n, k;  ///< rows of D, columns of D, terms of each sum
  ///@{
  /// Whether op transposes the matrix in memory.
  bool transpose_a = false, transpose_b = false;
  ///@}
  ///@{
  /// Elements from one column to the next.
  std::int64_t lda, ldb, ldd;
  ///@}
  ///@{
  /// Number of products, and the distances in elements between the matrices of successive products: 0 for a matrix that
  /// all products share.
  std::int64_t batch = 1, batch_a = 0, batch_b = 0, batch_d = 0;
  ///@}
  Epilogue epilogue = Epilogue::none;  ///< fused operation
  ///@{
  /// `operands` is the dtype of A and B. `result` is the dtype of D and, as cuBLASLt requires, of the epilogue's
  /// vector. Each is f32 or bf16.
  DType operands = DType::f32, result = DType::f32;
  ///@}

  ///@{
  /// Number of elements from the first to the last of A, B and D in memory.
  constexpr std::int64_t a_elements() const { return extent(transpose_a ? k : m, transpose_a ? m : k, lda, batch_a); }
  constexpr std::int64_t b_elements() const { return extent(transpose_b ? n : k, transpose_b ? k : n, ldb, batch_b); }
  constexpr std::int64_t d_elements() const { return extent(m, n, ldd, batch_d); }
  ///@}

  /// Compares all members.
  friend auto operator<=>(const MatrixProduct&, const MatrixProduct&) = default;

 private:
  constexpr std::int64_t extent(std::int64_t rows, std::int64_t columns, std::int64_t stride,
                                std::int64_t batch_stride) const {
    return (batch - 1) * batch_stride + (columns - 1) * stride + rows;
  }
};

/// The product that computes y (n, out) from A = kernel (in, out), B = x (n, in) and, with a bias epilogue, bias (out).
/// All have `dtype`.
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

/// The product that computes dx (n, in) from A = kernel (in, out) and B = dy (n, out). All have `dtype`.
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

/// The product that computes dkernel (in, out), f32, from A = dy (n, out) and B = x (n, in) of `dtype`; with bgrada it
/// also computes dbias (out), f32. cuBLASLt supports bgrada only for an untransposed A, as here.
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

/// Strides, in elements, of a batch of matrices: row-major if `column` is 1, else column-major (`row` is 1).
struct BatchStrides {
  std::int64_t batch, row, column;
};

/// The product that computes y (batch, m, n), dense, from B = a (batch, m, k) and A = b (batch, k, n). All have
/// `dtype`.
constexpr MatrixProduct batched_product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                                        const BatchStrides& a, const BatchStrides& b, DType dtype) {
  return {.m = n,
          .n = m,
          .k = k,
          .transpose_a = b.column != 1,
          .transpose_b = a.column != 1,
          .lda = b.column != 1 ? b.column : b.row,
          .ldb = a.column != 1 ? a.column : a.row,
          .ldd = n,
          .batch = batch,
          .batch_a = b.batch,
          .batch_b = a.batch,
          .batch_d = m * n,
          .operands = dtype,
          .result = dtype};
}

}  // namespace lockstep::cublas
