#include "lockstep/runtime/tensor/indexed_slices.h"

#include <fmt/core.h>

namespace lockstep {

std::string IndexedSlices::text() const {
  if (!values.defined() || !indices.defined()) return "undefined IndexedSlices";
  return fmt::format("{} rows of {} {}", indices.elements(), name(values.dtype()), dense_shape);
}

void check_shapes(const IndexedSlices& slices) {
  require(slices.values.defined() && slices.indices.defined(), "IndexedSlices need values and indices, got {} and {}",
          slices.values, slices.indices);
  require(slices.indices.rank() == 1 && slices.indices.dtype() == DType::i64,
          "IndexedSlices need indices of one axis of i64, got {}", slices.indices);
  Shape expected = slices.dense_shape;
  require(expected.rank() >= 1, "IndexedSlices stand for a tensor of at least one axis, got the shape {}", expected);
  expected[0] = slices.indices.dim(0);
  require(slices.values.shape() == expected, "{} indices of rows of {} need values of {}, got {}", expected[0],
          slices.dense_shape, expected, slices.values);
}

bool is_defined(const DenseOrSparse& gradient) {
  const auto* const dense = std::get_if<Tensor>(&gradient);
  return !dense || dense->defined();
}

}  // namespace lockstep
