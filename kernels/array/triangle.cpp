#include "lockstep/kernels/array/triangle.h"

#include <algorithm>

#include <lockstep/kernels/elementwise/place_kernels.h>
#include <lockstep/kernels/op/gradient.h>

namespace lockstep {
namespace {

/// x (..., rows, columns) as (n, rows, columns).
Tensor as_matrices(const Tensor& x) {
  std::int64_t n = 1;
  for (int axis = 0; axis < x.rank() - 2; ++axis) n *= x.shape()[axis];
  return make_dense(x).view({n, x.dim(-2), x.dim(-1)});
}

Tensor triangle(const char* op, const Tensor& operand, bool lower, std::int64_t diagonal) try {
  require(operand.defined() && operand.rank() >= 2, "{} takes a tensor (..., rows, columns), got {}", op, operand);
  const Tensor x = to_current_device(operand);
  const std::int64_t k = std::clamp(diagonal, -x.dim(-2), x.dim(-1));  // beyond these all or nothing is kept
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::Triangle{as_matrices(x), lower, k, as_matrices(y)});
  if (recording({x})) {
    record(op, {x}, y, [op, lower, k](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      contribute_linear(
          c, 0, dy.shape(),
          [&](const Tensor& out) {
            launch(kernels::Triangle{as_matrices(dy), lower, k, as_matrices(out)});
          },
          [op, lower, k](const Tensor& d) { return triangle(op, d, lower, k); }, dy.dtype());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace

Tensor tril(const Tensor& x, std::int64_t k) { return triangle("tril", x, true, k); }
Tensor triu(const Tensor& x, std::int64_t k) { return triangle("triu", x, false, k); }

Tensor eye(std::int64_t rows, std::int64_t columns, std::int64_t k, DType dtype) try {
  require(rows >= 0 && columns >= 0, "eye takes sizes of at least 0, got {} and {}", rows, columns);
  return triu(tril(Tensor::full({rows, columns}, 1, dtype), k), k);
} catch (Error& error) {
  rethrow_from("eye", error);
}

}  // namespace lockstep
