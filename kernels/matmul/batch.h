#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Describes the operands of kernels::Matmul as oneDNN and cuBLASLt require.

namespace lockstep {

/// Strides of the matrices in the last two axes of a tensor.
struct MatrixStrides {
  ///@{
  /// Elements from one row, or column, to the next.
  std::int64_t row, column;
  ///@}
};

/// Strides of the last two axes. For an axis of size 1, returns the stride that it would have in a matrix without gaps.
inline MatrixStrides matrix_strides(const Tensor& x) {
  const std::int64_t columns = x.dim(-1);
  const std::int64_t column = columns == 1 ? 1 : x.strides().dim(-1);
  if (x.dim(-2) > 1) return {x.strides().dim(-2), column};
  return {column == 1 ? columns : 1, column};
}

/// Whether the rows or the columns of the matrices are contiguous in memory and do not overlap, as oneDNN and cuBLASLt
/// require.
inline bool has_contiguous_lines(const Tensor& x) {
  const auto [row, column] = matrix_strides(x);
  return (column == 1 && row >= x.dim(-1)) || (row == 1 && column >= x.dim(-2));
}

/// The axes of a product's batch.
struct BatchAxes {
  Shape sizes;  ///< number of matrices along each axis
  ///@{
  /// Strides of the operands and the result; 0 where an operand is broadcast.
  Shape a, b, y;
  ///@}
};

/// Returns the batch axes (all but the last two), except axes of size 1. Neighboring axes are merged where the strides
/// of a, b and y permit it.
inline BatchAxes batch_axes(const Tensor& a, const Tensor& b, const Tensor& y) {
  BatchAxes batch;
  for (int axis = 0; axis < y.rank() - 2; ++axis) {
    const std::int64_t size = y.shape()[axis];
    if (size == 1) continue;
    const auto stride = [axis](const Tensor& x) { return x.shape()[axis] == 1 ? 0 : x.strides()[axis]; };
    const int last = batch.sizes.rank() - 1;
    if (last >= 0 && batch.a[last] == stride(a) * size && batch.b[last] == stride(b) * size &&
        batch.y[last] == stride(y) * size) {
      batch.sizes[last] *= size;
      batch.a[last] = stride(a);
      batch.b[last] = stride(b);
      batch.y[last] = stride(y);
    } else {
      batch.sizes.push_back(size);
      batch.a.push_back(stride(a));
      batch.b.push_back(stride(b));
      batch.y.push_back(stride(y));
    }
  }
  return batch;
}

/// Splits a product along the first axis of y with more than one element and calls visit(a, b, y) for each part.
/// Precondition: this axis is a batch axis, not one of the last two.
template <class Visit>
void for_each_part(const Tensor& a, const Tensor& b, const Tensor& y, const Visit& visit) {
  int axis = 0;
  while (y.shape()[axis] == 1) ++axis;
  for (std::int64_t i = 0; i < y.shape()[axis]; ++i) {
    const auto part = [&](const Tensor& x) {
      const std::int64_t at = x.shape()[axis] == 1 ? 0 : i;
      return x.slice_view(axis, at, at + 1);
    };
    visit(part(a), part(b), part(y));
  }
}

}  // namespace lockstep
