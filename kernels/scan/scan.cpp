#include "lockstep/kernels/scan/scan.h"

#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/axis_groups.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/scan/scan_kernels.h>

namespace lockstep {
namespace {

/// A view of x with `axis` and the last axis exchanged.
Tensor axis_last(const Tensor& x, int axis) { return x.transposed_view(axis, x.rank() - 1); }

}  // namespace

Tensor cumsum(const Tensor& operand, int axis, const CumsumOptions& options) try {
  require_real("cumsum", operand);
  const Tensor x = to_current_device(operand);
  const Shape around = around_axis(x.shape(), x.shape().normalize_axis(axis));
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::CumulativeSum{make_dense(x).view(around), options.exclusive, options.reverse, y.view(around)});
  if (recording({x})) {
    record("cumsum", {x}, y, [options, around, shape = x.shape(), dtype = x.dtype()](BackwardContext& c) {
      contribute(
          c, 0, shape,
          [&](const Tensor& out) {
            const Tensor dy = make_dense(c.gradient(0)).view(around);
            launch(kernels::CumulativeSum{dy, options.exclusive, !options.reverse, out.view(around)});
          },
          dtype);
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("cumsum", error);
}

Tensor cumprod(const Tensor& operand, int axis) try {
  require_real("cumprod", operand);
  axis = operand.shape().normalize_axis(axis);
  const Tensor x = to_current_device(operand);
  const Tensor last = make_dense(axis_last(x, axis));
  const std::int64_t n = last.dim(-1);
  const Shape rows{n == 0 ? 0 : last.elements() / n, n};
  const Tensor products = Tensor::empty(last.shape(), last.dtype());
  launch(kernels::CumulativeProduct{last.view(rows), products.view(rows)});
  const Tensor y = make_dense(axis_last(products, axis));
  if (recording({x})) {
    record("cumprod", {x}, y, [last, rows, axis](BackwardContext& c) {
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

}  // namespace lockstep
