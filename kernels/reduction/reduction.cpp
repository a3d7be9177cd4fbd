#include "lockstep/kernels/reduction/reduction.h"

#include <lockstep/kernels/elementwise/comparison_kernels.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/number.h>
#include <lockstep/kernels/op/real.h>
#include <lockstep/kernels/op/select.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/axis_groups.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>

namespace lockstep {
namespace {

AxisSet all_axes(const Shape& shape) {
  AxisSet set;
  for (int axis = 0; axis < shape.rank(); ++axis) set[axis] = true;
  return set;
}

/// `chosen`, or all axes if it is null.
AxisSet axes_of(const Shape& shape, const std::vector<int>* chosen) {
  return chosen != nullptr ? axis_set(shape, *chosen) : all_axes(shape);
}

std::int64_t reduced_count(const Shape& shape, AxisSet axes) {
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (axes[axis]) count *= shape[axis];
  return count;
}

/// y = x / count, f32; y may be x. The divisor is filled on the device, since a copy from the host would prevent the
/// capture of a step.
void divide(const Tensor& x, std::int64_t count, const Tensor& y) {
  const Tensor divisor = Tensor::empty({});
  launch(kernels::Fill{divisor, static_cast<float>(count)});
  launch(kernels::Binary{BinaryOp::divide, x, divisor.broadcast_view(x.shape()), y});
}

/// Sum over `axes`, divided by the number of elements of each sum if `mean`.
Tensor add_up(const char* op, const Tensor& operand, AxisSet axes, bool keepdims, bool mean) {
  const Tensor x = to_current_device(operand);
  const std::int64_t count = reduced_count(x.shape(), axes);
  // A bf16 sum would be rounded before the division, and the count with it.
  const Tensor total = Tensor::empty(reduced_shape(x.shape(), axes, keepdims), mean ? DType::f32 : x.dtype());
  sum_axes(x, axes, total);
  if (mean) divide(total, count, total);
  const Tensor y = in_dtype(x.dtype(), total);
  if (recording({x})) {
    const Shape kept = reduced_shape(x.shape(), axes, true);
    record(op, {x}, y, [op, shape = x.shape(), axes, keepdims, kept, count, mean](BackwardContext& c) {
      const DType dtype = c.gradient(0).dtype();
      contribute_linear(
          c, 0, shape,
          [&](const Tensor& out) {
            Tensor dy = make_dense(c.gradient(0)).view(kept);
            if (mean) {
              const Tensor quotient = Tensor::empty(kept);
              divide(in_dtype(DType::f32, dy), count, quotient);
              dy = quotient;
            }
            launch(kernels::Convert{dy.broadcast_view(shape), out});
          },
          [op, axes, keepdims, mean](const Tensor& d) { return add_up(op, d, axes, keepdims, mean); }, dtype);
    });
  }
  return y;
}

/// `chosen`: the axes, or null for all.
Tensor add_up(const char* op, const Tensor& x, const std::vector<int>* chosen, bool keepdims, bool mean) try {
  require_defined(op, x);
  return add_up(op, x, axes_of(x.shape(), chosen), keepdims, mean);
} catch (Error& error) {
  rethrow_from(op, error);
}

/// Reduces each run of neighboring `axes` of x to y as documented for sum_axes: step(whole, rest) reduces the middle
/// axis of `whole` (outer, n, inner) to `rest` (outer, inner), which has the dtype `between` before the last step.
template <class Step>
void reduce_runs(const Tensor& x, AxisSet axes, const Tensor& y, DType between, const Step& step) {
  AxisGroups groups(x.shape(), axes);
  Tensor rest = make_dense(x);
  if (groups.last_summed() < 0) {
    launch(kernels::Convert{rest.view(y.shape()), y});
    return;
  }
  while (true) {
    const int at = groups.last_summed();
    const std::int64_t outer = groups.product(0, at);
    const std::int64_t inner = groups.product(at + 1, groups.sizes.rank());
    const Tensor whole = rest.view({outer, groups.sizes[at], inner});
    groups.sizes[at] = 1;
    groups.summed[at] = false;
    const bool last = groups.last_summed() < 0;
    rest = last ? y.view({outer, inner}) : Tensor::empty({outer, inner}, between);
    step(whole, rest);
    if (last) return;
  }
}

/// Operands of the gradient of a reduction: x, the result y, and the shape of y with keepdims.
struct Reduced {
  Tensor x;
  Tensor y;
  AxisSet axes;
  Shape kept;
};

/// How many elements of `mask` (bool) are true in each reduction, f32.
Tensor count_true(const Tensor& mask, const Reduced& of) {
  const Tensor count = Tensor::empty(of.kept);
  sum_axes(mask, of.axes, count);
  return count;
}

/// Whether each element of x equals that of `other`, which is broadcast.
Tensor equals(const Tensor& x, const Tensor& other) {
  const Tensor mask = Tensor::empty(x.shape(), DType::boolean);
  launch(kernels::Compare{ComparisonOp::equal, x, other.broadcast_view(x.shape()), mask});
  return mask;
}

/// Gives the elements that equal the maximum or minimum equal shares of its gradient.
void extreme_gradient(const Reduced& of, const Tensor& dy, const Tensor& out) {
  const Tensor mask = equals(of.x, of.y.view(of.kept));
  const Tensor share = Tensor::empty(of.kept);
  launch(kernels::Binary{BinaryOp::divide, in_dtype(DType::f32, dy).view(of.kept), count_true(mask, of), share});
  select(mask, in_dtype(out.dtype(), share), number_like("max", out, 0), out);
}

Tensor added_shares(const char* op, const Reduced& of, const Tensor& shares, const Tensor& d);

/// dy times the elements' shares of it, as `op`; linear in dy.
Tensor shared_out(const char* op, const Reduced& of, const Tensor& shares, const Tensor& dy) {
  const Tensor dx = Tensor::empty(shares.shape(), shares.dtype());
  const Tensor kept = make_dense(dy).view(of.kept);
  launch(kernels::Binary{BinaryOp::multiply, shares, kept.broadcast_view(shares.shape()), dx});
  if (recording({dy}))
    record(op, {dy}, dx, [op, of, shares](BackwardContext& c) {
      contribute_ops(c, 0, [&] { return added_shares(op, of, shares, c.gradient(0)); });
    });
  return dx;
}

/// The transpose of shared_out: the sum of d times the shares over the reduced axes.
Tensor added_shares(const char* op, const Reduced& of, const Tensor& shares, const Tensor& d) {
  const Tensor product = Tensor::empty(shares.shape(), shares.dtype());
  launch(kernels::Binary{BinaryOp::multiply, shares, d, product});
  const Tensor sum = Tensor::empty(of.y.shape(), shares.dtype());
  sum_axes(product, of.axes, sum);
  if (recording({d}))
    record(op, {d}, sum, [op, of, shares](BackwardContext& c) {
      contribute_ops(c, 0, [&] { return shared_out(op, of, shares, c.gradient(0)); });
    });
  return sum;
}

/// The gradient of the maximum or minimum by ops.
Tensor extreme_gradient_by_ops(const char* op, const Reduced& of, const Tensor& dy) {
  const Tensor shares = Tensor::empty(of.x.shape(), of.x.dtype());
  extreme_gradient(of, Tensor::full(of.kept, 1, dy.dtype()), shares);
  return shared_out(op, of, shares, dy);
}

Tensor reduce(const char* op, ReduceOp kind, const Tensor& operand, const std::vector<int>* chosen, bool keepdims) try {
  require_defined(op, operand);
  if (is_byte(operand.dtype())) return in_dtype(operand.dtype(), reduce(op, kind, counted(operand), chosen, keepdims));
  const AxisSet axes = axes_of(operand.shape(), chosen);
  const Tensor x = to_current_device(operand);
  const Tensor y = Tensor::empty(reduced_shape(x.shape(), axes, keepdims), x.dtype());
  const bool extreme = kind == ReduceOp::max || kind == ReduceOp::min;
  require(!extreme || reduced_count(x.shape(), axes) > 0 || y.elements() == 0,
          "{} of {}: needs at least one element along each reduced axis", op, x);
  reduce_axes(kind, x, axes, y);
  if (extreme && is_real(x.dtype()) && recording({x})) {
    const Reduced of{x, y, axes, reduced_shape(x.shape(), axes, true)};
    record(op, {x}, y, [op, of](BackwardContext& c) {
      if (c.is_recorded()) return contribute_ops(c, 0, [&] { return extreme_gradient_by_ops(op, of, c.gradient(0)); });
      contribute(
          c, 0, of.x.shape(), [&](const Tensor& out) { extreme_gradient(of, make_dense(c.gradient(0)), out); },
          of.x.dtype());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from(op, error);
}

Tensor sum(const Tensor& x, const std::vector<int>* axes, bool keepdims) try {
  if (!is_real(x.dtype())) return reduce("sum", ReduceOp::sum, counted(x), axes, keepdims);
  return add_up("sum", x, axes, keepdims, false);
} catch (Error& error) {
  rethrow_from("sum", error);
}

Tensor mean(const Tensor& x, const std::vector<int>* axes, bool keepdims) try {
  return add_up("mean", as_real("mean", x), axes, keepdims, true);
} catch (Error& error) {
  rethrow_from("mean", error);
}

/// any and all: the maximum and minimum of truth values.
Tensor reduce_truth(const char* op, ReduceOp kind, const Tensor& operand, const std::vector<int>* chosen,
                    bool keepdims) try {
  require(operand.defined(), "{} takes a tensor, got {}", op, operand);
  const AxisSet axes = axes_of(operand.shape(), chosen);
  const Tensor x = to_current_device(operand);
  const Tensor y = Tensor::empty(reduced_shape(x.shape(), axes, keepdims), DType::boolean);
  reduce_axes(kind, in_dtype(DType::boolean, x), axes, y);
  return y;
} catch (Error& error) {
  rethrow_from(op, error);
}

Tensor index_of_extreme(const char* op, const Tensor& operand, std::optional<int> axis, bool keepdims,
                        bool smallest) try {
  require_defined(op, operand);
  const Tensor x = to_current_device(operand);
  if (axis) axis = x.shape().normalize_axis(*axis);
  const AxisSet axes = axis ? axis_set(x.shape(), {*axis}) : all_axes(x.shape());
  const Tensor y = Tensor::empty(reduced_shape(x.shape(), axes, keepdims), DType::i64);
  const std::int64_t n = reduced_count(x.shape(), axes);
  require(n > 0 || y.elements() == 0, "{} of {}: {} no elements", op, x,
          axis ? fmt::format("axis {} has", *axis) : "there are");
  if (y.elements() == 0) return y;
  Tensor last = x;              // with `axis`, if there is one, moved to the end
  if (is_integer(x.dtype())) {  // which f32 would round
    const Tensor extreme = Tensor::empty(reduced_shape(x.shape(), axes, true), x.dtype());
    reduce_axes(smallest ? ReduceOp::min : ReduceOp::max, x, axes, extreme);
    last = equals(x, extreme);
    smallest = false;
  }
  if (!is_real(last.dtype())) last = in_dtype(DType::f32, last);
  for (int at = axis.value_or(x.rank()); at < x.rank() - 1; ++at) last = last.transposed_view(at, at + 1);
  launch(kernels::Argmax{make_dense(last).view({y.elements(), n}), smallest, y});
  return y;
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace

void reduce_axes(ReduceOp op, const Tensor& x, AxisSet axes, const Tensor& y) {
  reduce_runs(x, axes, y, is_real(x.dtype()) ? DType::f32 : x.dtype(), [&](const Tensor& whole, const Tensor& rest) {
    launch(kernels::ReduceMiddle{op, whole, rest});
  });
}

void sum_axes(const Tensor& x, AxisSet axes, const Tensor& y) {
  reduce_runs(x, axes, y, DType::f32, [](const Tensor& whole, const Tensor& rest) {
    launch(kernels::SumMiddle{whole, rest});
  });
}

void sum_to_shape(const Tensor& x, const Tensor& y) {
  AxisSet axes;
  const int added = x.rank() - y.rank();
  for (int axis = 0; axis < x.rank(); ++axis)
    axes[axis] = axis < added || (y.shape()[axis - added] == 1 && x.shape()[axis] != 1);
  sum_axes(x, axes, y);
}

Tensor sum(const Tensor& x) { return sum(x, nullptr, false); }

Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keepdims) { return sum(x, &axes, keepdims); }

Tensor mean(const Tensor& x) { return mean(x, nullptr, false); }

Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keepdims) { return mean(x, &axes, keepdims); }

Tensor max(const Tensor& x) { return reduce("max", ReduceOp::max, x, nullptr, false); }

Tensor max(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return reduce("max", ReduceOp::max, x, &axes, keepdims);
}

Tensor min(const Tensor& x) { return reduce("min", ReduceOp::min, x, nullptr, false); }

Tensor min(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return reduce("min", ReduceOp::min, x, &axes, keepdims);
}

Tensor any(const Tensor& x) { return reduce_truth("any", ReduceOp::max, x, nullptr, false); }

Tensor any(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return reduce_truth("any", ReduceOp::max, x, &axes, keepdims);
}

Tensor all(const Tensor& x) { return reduce_truth("all", ReduceOp::min, x, nullptr, false); }

Tensor all(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return reduce_truth("all", ReduceOp::min, x, &axes, keepdims);
}

Tensor argmax(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return index_of_extreme("argmax", x, axis, keepdims, false);
}
Tensor argmin(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return index_of_extreme("argmin", x, axis, keepdims, true);
}

}  // namespace lockstep
