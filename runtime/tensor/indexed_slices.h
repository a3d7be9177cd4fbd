#pragma once

#include <string>
#include <variant>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A tensor of `dense_shape` most of whose rows are 0: row indices[i] holds values[i]; where an index comes more than
/// once, its rows add up. What the gradient of an embedding table is.
struct IndexedSlices {
  Tensor values;      ///< (n, dense_shape without its first axis)
  Tensor indices;     ///< (n) i64, each in [0, dense_shape[0])
  Shape dense_shape;  ///< of the tensor that the rows belong to

  /// "3 rows of f32 (10, 4)".
  std::string text() const;
};

/// Throws InvalidArgument unless shapes and the indices' dtype are as IndexedSlices says.
void check_shapes(const IndexedSlices& slices);

/// A gradient as an op leaves it; an undefined tensor stands for none.
using DenseOrSparse = std::variant<Tensor, IndexedSlices>;

/// Whether there is a gradient.
bool is_defined(const DenseOrSparse& gradient);

}  // namespace lockstep
