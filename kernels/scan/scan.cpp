#include "lockstep/kernels/scan/scan.h"

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/number.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/axis_groups.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/scan/scan_kernels.h>

namespace lockstep {
namespace {

/// All elements of x, along one axis.
Tensor flat(const Tensor& x) { return reshape(x, {x.elements()}); }

/// A view of x with `axis` and the last axis exchanged.
Tensor axis_last(const Tensor& x, int axis) { return x.transposed_view(axis, x.rank() - 1); }

/// That of the cumulative sum or product of u8 or bool.
DType dtype_of_scan(const Tensor& x) { return x.dtype() == DType::u8 ? DType::u8 : DType::i32; }

/// The gradient of cumprod by ops, without a division: element i receives the sum of dy[k] times the product of x[j],
/// j <= k, j != i, over k >= i. Its memory grows with the square of the axis.
Tensor cumprod_gradient(const Tensor& x, int axis, const Tensor& dy) {
  const std::int64_t n = x.dim(axis);
  const auto rows = [&](const Tensor& t) { return expand_dims(cast(swapaxes(t, axis, -1), DType::f32), -2); };
  const Tensor others = where(equal(eye(n, n), 1.0), 1.0, rows(x));  // (..., i, j)
  const Tensor products = triu(cumprod(others, -1));
  return cast(swapaxes(sum(multiply(rows(dy), products), {-1}), axis, -1), x.dtype());
}

}  // namespace

Tensor cumsum(const Tensor& operand, std::optional<int> axis, const CumsumOptions& options) try {
  require_defined("cumsum", operand);
  if (is_byte(operand.dtype())) return in_dtype(dtype_of_scan(operand), cumsum(counted(operand), axis, options));
  if (!axis) return cumsum(flat(operand), 0, options);
  const Tensor x = to_current_device(operand);
  const Shape around = around_axis(x.shape(), x.shape().normalize_axis(*axis));
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::CumulativeSum{make_dense(x).view(around), options.exclusive, options.reverse, y.view(around)});
  if (recording({x})) {
    record("cumsum", {x}, y, [axis, options, around, shape = x.shape(), dtype = x.dtype()](BackwardContext& c) {
      contribute_linear(
          c, 0, shape,
          [&](const Tensor& out) {
            const Tensor dy = make_dense(c.gradient(0)).view(around);
            launch(kernels::CumulativeSum{dy, options.exclusive, !options.reverse, out.view(around)});
          },
          [axis, options](const Tensor& d) { return cumsum(d, axis, options); }, dtype);
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("cumsum", error);
}

Tensor cumprod(const Tensor& operand, std::optional<int> along) try {
  require_defined("cumprod", operand);
  if (is_byte(operand.dtype())) return in_dtype(dtype_of_scan(operand), cumprod(counted(operand), along));
  if (!along) return cumprod(flat(operand), 0);
  const int axis = operand.shape().normalize_axis(*along);
  const Tensor x = to_current_device(operand);
  const Tensor last = make_dense(axis_last(x, axis));
  const std::int64_t n = last.dim(-1);
  const Shape rows{n == 0 ? 0 : last.elements() / n, n};
  const Tensor products = Tensor::empty(last.shape(), last.dtype());
  launch(kernels::CumulativeProduct{last.view(rows), products.view(rows)});
  const Tensor y = make_dense(axis_last(products, axis));
  if (is_real(x.dtype()) && recording({x})) {
    // What the gradient by ops reads; it has no memory of its own unless several tapes record.
    const Tensor kept = several_tapes_record() ? x : axis_last(last, axis);
    record("cumprod", {x}, y, [kept, last, rows, axis](BackwardContext& c) {
      if (c.is_recorded()) return contribute_ops(c, 0, [&] { return cumprod_gradient(kept, axis, c.gradient(0)); });
      contribute(
          c, 0, c.gradient(0).shape(),
          [&](const Tensor& out) {
            const Tensor factors = in_dtype(DType::f32, last);
            const Tensor dy = make_dense(in_dtype(DType::f32, axis_last(c.gradient(0), axis)));
            const Tensor dx = Tensor::empty(factors.shape());
            launch(kernels::ProductGradient{factors.view(rows), dy.view(rows), dx.view(rows)});
            launch(kernels::Convert{dx, axis_last(out, axis)});
          },
          last.dtype());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("cumprod", error);
}

Tensor diff(const Tensor& x, std::int64_t n, int axis) try {
  require_defined("diff", x);
  require(n >= 0, "diff takes an n of at least 0, got {}", n);
  axis = x.shape().normalize_axis(axis);
  Tensor y = x;
  for (std::int64_t i = 0; i < n && y.dim(axis) > 0; ++i) {
    const Tensor later = slice(y, axis, 1, y.dim(axis));
    const Tensor earlier = slice(y, axis, 0, y.dim(axis) - 1);
    y = x.dtype() == DType::boolean ? not_equal(later, earlier) : later - earlier;
  }
  return y;
} catch (Error& error) {
  rethrow_from("diff", error);
}

}  // namespace lockstep
