#include "lockstep/kernels/array/diagonal.h"

#include <algorithm>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/reduction/reduction.h>

namespace lockstep {

// In row-major order, the elements of a diagonal are columns + 1 places apart.
Tensor diagonal(const Tensor& x, std::int64_t offset, int axis1, int axis2) try {
  require_defined("diagonal", x);
  require(x.rank() >= 2, "diagonal takes a tensor of at least two axes, got {}", x);
  const Tensor matrices = moveaxis(x, {axis1, axis2}, {-2, -1});
  const std::int64_t rows = matrices.dim(-2);
  const std::int64_t columns = matrices.dim(-1);
  const std::int64_t k = std::clamp(offset, -rows, columns);
  const std::int64_t count = std::min(rows + std::min<std::int64_t>(k, 0), columns - std::max<std::int64_t>(k, 0));
  const std::int64_t begin = k < 0 ? -k * columns : k;
  const std::int64_t end = begin + count * (columns + 1);
  Shape shape(std::span(matrices.shape().begin(), static_cast<std::size_t>(x.rank() - 2)));
  std::vector<PadWidth> widths(shape.rank());
  shape.push_back(rows * columns);
  widths.push_back({0, std::max<std::int64_t>(end - rows * columns, 0)});
  const Tensor spaced = slice(pad(reshape(matrices, shape), widths), -1, begin, end);
  shape[shape.rank() - 1] = count;
  shape.push_back(columns + 1);
  return squeeze(slice(reshape(spaced, shape), -1, 0, 1), {-1});
} catch (Error& error) {
  rethrow_from("diagonal", error);
}

Tensor trace(const Tensor& x, std::int64_t offset, int axis1, int axis2) try {
  require_defined("trace", x);
  return sum(diagonal(x, offset, axis1, axis2), {-1});
} catch (Error& error) {
  rethrow_from("trace", error);
}

Tensor diag(const Tensor& x, std::int64_t k) try {
  require_defined("diag", x);
  require(x.rank() == 1 || x.rank() == 2, "diag takes a vector or a matrix, got {}", x);
  if (x.rank() == 2) return diagonal(x, k);
  constexpr std::int64_t limit = std::int64_t{1} << 61;
  require(k > -limit && k < limit, "diag takes a k between -2^61 and 2^61, got {}", k);
  const Tensor by_column = pad(x, {{std::max<std::int64_t>(k, 0), std::max<std::int64_t>(-k, 0)}});
  const std::int64_t size = by_column.elements();
  return where(eye(size, size, k, DType::boolean), broadcast_to(by_column, {size, size}), Tensor::zeros({}, x.dtype()));
} catch (Error& error) {
  rethrow_from("diag", error);
}

}  // namespace lockstep
