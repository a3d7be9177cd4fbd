#include <lockstep/kernels/rows.h>

#include <lockstep/kernels/ops/array.h>

namespace lockstep {

std::optional<Rows> as_rows(const Tensor& tensor) {
  if (tensor.rank() == 0) return std::nullopt;
  const int last = tensor.rank() - 1;
  const std::int64_t channels = tensor.shape()[last];
  Rows rows{.count = 1, .channels = channels, .stride = channels};
  if (channels > 1 && tensor.strides()[last] != 1) return std::nullopt;
  for (int axis = last - 1; axis >= 0; --axis) {
    const std::int64_t size = tensor.shape()[axis];
    if (size != 1 && rows.count == 1) rows.stride = tensor.strides()[axis];
    if (size > 1 && tensor.strides()[axis] != rows.stride * rows.count) return std::nullopt;
    rows.count *= size;
  }
  if (rows.stride < channels) return std::nullopt;  // a broadcast axis
  return rows;
}

Rows rows_of(const Tensor& tensor, const char* what) {
  const std::optional<Rows> rows = as_rows(tensor);
  require<BrokenInvariant>(rows.has_value(), "{} is not laid out in rows: {} with strides {}", what, tensor.text(),
                           tensor.strides().text());
  return *rows;
}

Tensor with_rows(const Tensor& tensor) { return as_rows(tensor) ? tensor : dense_copy(tensor); }

}  // namespace lockstep
