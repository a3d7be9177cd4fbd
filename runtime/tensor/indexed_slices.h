#pragma once

#include <string>
#include <variant>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A tensor of `dense_shape` whose rows are mostly 0: values[i] is added to row indices[i], so rows with the same index
/// add up. The gradient of an embedding table has this form.
struct IndexedSlices {
  Tensor values;      ///< (n, dense_shape without its first axis)
  Tensor indices;     ///< (n) i64, each in [0, dense_shape[0])
  Shape dense_shape;  ///< shape of the whole tensor; rank >= 1

  /// A description, e.g. "3 rows of f32 (10, 4)".
  std::string text() const;
};

/// Throws InvalidArgument if values or indices are undefined or do not have the shapes and dtype that IndexedSlices
/// documents. Does not read the indices.
void check_shapes(const IndexedSlices& slices);

/// A gradient in the form in which an op produces it; an undefined tensor means that there is no gradient.
using DenseOrSparse = std::variant<Tensor, IndexedSlices>;

/// False if the gradient is an undefined tensor.
bool is_defined(const DenseOrSparse& gradient);

}  // namespace lockstep
