#pragma once

#include <string>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A tensor of `dense_shape` most of whose rows are 0: row indices[i] holds values[i]; where an index comes more than
/// once, its rows add up. What the gradient of an embedding table is.
struct IndexedSlices {
  Tensor values;   ///< (n, dense_shape without its first axis)
  Tensor indices;  ///< (n) i64, each in [0, dense_shape[0])
  Shape dense_shape;

  /// "3 rows of f32 (10, 4)".
  std::string text() const;
};

/// Throws InvalidArgument unless shapes and the indices' dtype are as IndexedSlices says.
void check_shapes(const IndexedSlices& slices);

/// The whole tensor; rows of one index are added up in their order. f32 and bf16; records nothing on tapes.
/// Throws InvalidArgument for other dtypes, shapes that do not fit, and an index outside the tensor.
Tensor to_dense(const IndexedSlices& slices);

}  // namespace lockstep
