#include "lockstep/kernels/indexing/diagonal.h"

#include <algorithm>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/indexing/take.h>
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
  Shape shape(std::span(matrices.shape().begin(), static_cast<std::size_t>(x.rank() - 2)));
  shape.push_back(rows * columns);
  const Tensor places = arange(begin, begin + count * (columns + 1), columns + 1, DType::i64);
  return take(reshape(matrices, shape), places, -1);
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
