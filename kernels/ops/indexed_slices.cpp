#include <lockstep/kernels/backend.h>
#include <lockstep/kernels/ops/indexed_slices.h>

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

Tensor to_dense(const IndexedSlices& slices) {
  check_shapes(slices);
  const DType dtype = slices.values.dtype();
  require(dtype == DType::f32 || dtype == DType::bf16, "to_dense adds up f32 and bf16 rows, got {}", slices.values);
  const Tensor dense = Tensor::zeros(slices.dense_shape, dtype);
  const std::vector<std::int64_t> indices = slices.indices.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t row = indices[i];
    require(row >= 0 && row < slices.dense_shape[0], "index {} at place {} is outside {}", row, i, slices.text());
    const auto at = static_cast<std::int64_t>(i);
    current_backend().accumulate(slices.values.slice_view(0, at, at + 1), 1, dense.slice_view(0, row, row + 1));
  }
  return dense;
}

}  // namespace lockstep
