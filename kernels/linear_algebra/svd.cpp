#include "lockstep/kernels/linear_algebra/svd.h"

#include <array>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/linear_algebra/linear_algebra_kernels.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/real.h>

namespace lockstep {
namespace {

Tensor transposed(const Tensor& x) { return swapaxes(x, -2, -1); }

/// 1 / x, or 0 where x is 0.
Tensor inverse_or_0(const Tensor& x) {
  const Tensor is_0 = equal(x, 0);
  return where(is_0, 0.0, reciprocal(where(is_0, 1.0, x)));
}

/// The gradient of x = u s vh, m >= n, from those of the factors, which may be undefined. Formula: Townsend,
/// "Differentiating the singular value decomposition" (2016).
Tensor gradient_of(const Svd& f, const Tensor& du, const Tensor& ds, const Tensor& dvh) {
  const Tensor columns = expand_dims(f.s, -2);
  const Tensor rows = expand_dims(f.s, -1);
  const Tensor turns = inverse_or_0((columns - rows) * (columns + rows));
  const auto turned = [&](const Tensor& product) { return turns * (product - transposed(product)); };
  Tensor left = f.u * (ds.defined() ? expand_dims(ds, -2) : zeros_like(columns));  // the gradient is left vh
  if (du.defined()) {
    const Tensor product = matmul(transposed(f.u), du);
    left += matmul(f.u, turned(product)) * columns;
    left += (du - matmul(f.u, product)) * inverse_or_0(columns);
  }
  if (dvh.defined()) left += matmul(f.u, rows * turned(matmul(f.vh, transposed(dvh))));
  return matmul(left, f.vh);
}

/// Of f32 matrices with at least as many rows as columns.
Svd svd_of_tall(const Tensor& operand) {
  const Tensor x = dense_copy(operand);
  const std::int64_t m = x.dim(-2);
  const std::int64_t n = x.dim(-1);
  Shape batch;
  for (int axis = 0; axis < x.rank() - 2; ++axis) batch.push_back(x.shape()[axis]);
  const auto with = [&](std::initializer_list<std::int64_t> sizes) {
    Shape shape = batch;
    for (const std::int64_t size : sizes) shape.push_back(size);
    return Tensor::empty(shape);
  };
  const Svd f{with({m, n}), with({n}), with({n, n})};
  const std::int64_t count = batch.elements();
  launch(kernels::SingularValues{x.view({count, m, n}), f.u.view({count, m, n}), f.s.view({count, n}),
                                 f.vh.view({count, n, n})});
  if (recording({x})) {
    const std::array outputs{f.u, f.s, f.vh};
    record("svd", std::span(&x, 1), outputs, [f](BackwardContext& c) {
      contribute_ops(c, 0, [&] { return gradient_of(f, c.gradient(0), c.gradient(1), c.gradient(2)); });
    });
  }
  return f;
}

}  // namespace

Svd svd(const Tensor& operand) try {
  const Tensor x = as_real("svd", operand);
  require(x.rank() >= 2, "svd takes matrices (..., rows, columns), got {}", x);
  const Tensor wide = cast(x, DType::f32);
  const bool is_tall = x.dim(-2) >= x.dim(-1);
  const Svd f = svd_of_tall(is_tall ? wide : transposed(wide));
  const auto narrowed = [&](const Tensor& factor) { return cast(factor, x.dtype()); };
  if (is_tall) return {narrowed(f.u), narrowed(f.s), narrowed(f.vh)};
  return {narrowed(transposed(f.vh)), narrowed(f.s), narrowed(transposed(f.u))};
} catch (Error& error) {
  rethrow_from("svd", error);
}

}  // namespace lockstep
