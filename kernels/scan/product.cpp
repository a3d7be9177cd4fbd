#include "lockstep/kernels/scan/product.h"

#include <array>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/number.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/axis_groups.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/reduction/sum_axes.h>
#include <lockstep/kernels/scan/scan.h>

namespace lockstep {
namespace {

/// The axes of x with the reduced ones at the end; both kinds keep their order.
std::vector<int> kept_axes_first(const Tensor& x, AxisSet axes) {
  std::vector<int> order;
  for (const bool reduced : {false, true})
    for (int axis = 0; axis < x.rank(); ++axis)
      if (axes[static_cast<std::size_t>(axis)] == reduced) order.push_back(axis);
  return order;
}

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return back;
}

/// The gradient by kernels: x with its reduced axes at the end as rows, dy one number for each row.
Tensor product_gradient(const Tensor& x, const std::vector<int>& order, const Tensor& dy) {
  const Tensor last = transpose(x, order);
  const Tensor dx = Tensor::empty(last.shape());
  const Shape rows{dy.elements(), x.elements() / dy.elements()};
  launch(kernels::ProductGradient{make_dense(in_dtype(DType::f32, last)).view(rows),
                                  make_dense(in_dtype(DType::f32, dy)).view({rows[0], 1}), dx.view(rows)});
  return transpose(dx, inverse(order));
}

/// Same as product_gradient, but with ops; does not divide.
Tensor product_gradient_by_ops(const Tensor& x, const std::vector<int>& order, const Shape& kept, const Tensor& dy) {
  if (x.elements() == 0) return x;
  const Tensor last = transpose(x, order);
  const std::int64_t n = x.elements() / dy.elements();
  const Tensor rows = cast(reshape(last, {dy.elements(), n}), DType::f32);
  const Tensor one = Tensor::full({rows.dim(0), 1}, 1);
  const Tensor before = cumprod(concatenate(std::array{one, slice(rows, 1, 0, n - 1)}, 1), 1);
  const Tensor after = flip(cumprod(flip(concatenate(std::array{slice(rows, 1, 1, n), one}, 1), {1}), 1), {1});
  const Tensor others = transpose(reshape(multiply(before, after), last.shape()), inverse(order));
  return multiply(reshape(dy, kept), cast(others, dy.dtype()));
}

}  // namespace

Tensor prod(const Tensor& operand, const std::vector<int>& axes, bool keepdims) try {
  require_defined("prod", operand);
  const Tensor x = to_current_device(counted(operand));
  const AxisSet reduced = axis_set(x.shape(), axes);
  const Tensor y = Tensor::empty(reduced_shape(x.shape(), reduced, keepdims), x.dtype());
  reduce_axes(ReduceOp::prod, x, reduced, y);
  if (is_real(x.dtype()) && recording({x})) {
    const Shape kept = reduced_shape(x.shape(), reduced, true);
    record("prod", {x}, y, [x, order = kept_axes_first(x, reduced), kept](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      if (c.is_recorded()) return contribute_ops(c, 0, [&] { return product_gradient_by_ops(x, order, kept, dy); });
      const auto compute = [&](const Tensor& out) {
        if (out.elements() > 0) launch(kernels::Convert{product_gradient(x, order, dy), out});
      };
      contribute(c, 0, x.shape(), compute, x.dtype());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("prod", error);
}

Tensor prod(const Tensor& x) {
  require_defined("prod", x);
  return prod(x, all_axes(x));
}

}  // namespace lockstep
