#include "lockstep/kernels/reduction/reduction.h"

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
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

/// `shape` with size 1 for each of `axes`, or without `axes`.
Shape reduced_shape(const Shape& shape, AxisSet axes, bool keepdims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!axes[axis])
      result.push_back(shape[axis]);
    else if (keepdims)
      result.push_back(1);
  }
  return result;
}

std::int64_t summed_count(const Shape& shape, AxisSet axes) {
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
/// `chosen`: the axes, or null for all.
Tensor reduce(const char* op, const Tensor& operand, const std::vector<int>* chosen, bool keepdims, bool mean) try {
  require_real(op, operand);
  const AxisSet axes = chosen != nullptr ? axis_set(operand.shape(), *chosen) : all_axes(operand.shape());
  const Tensor x = to_current_device(operand);
  const std::int64_t count = summed_count(x.shape(), axes);
  // A bf16 sum would be rounded before the division, and the count with it.
  const Tensor total = Tensor::empty(reduced_shape(x.shape(), axes, keepdims), mean ? DType::f32 : x.dtype());
  sum_axes(x, axes, total);
  if (mean) divide(total, count, total);
  const Tensor y = in_dtype(x.dtype(), total);
  if (recording({x})) {
    const Shape kept = reduced_shape(x.shape(), axes, true);
    record(op, {x}, y, [shape = x.shape(), kept, count, mean](BackwardContext& c) {
      const DType dtype = c.gradient(0).dtype();
      contribute(
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
          dtype);
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace

void sum_axes(const Tensor& x, AxisSet axes, const Tensor& y) {
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
    rest = last ? y.view({outer, inner}) : Tensor::empty({outer, inner});
    launch(kernels::SumMiddle{whole, rest});
    if (last) return;
  }
}

void sum_to_shape(const Tensor& x, const Tensor& y) {
  AxisSet axes;
  const int added = x.rank() - y.rank();
  for (int axis = 0; axis < x.rank(); ++axis)
    axes[axis] = axis < added || (y.shape()[axis - added] == 1 && x.shape()[axis] != 1);
  sum_axes(x, axes, y);
}

Tensor sum(const Tensor& x) { return reduce("sum", x, nullptr, false, false); }

Tensor sum(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return reduce("sum", x, &axes, keepdims, false);
}

Tensor mean(const Tensor& x) { return reduce("mean", x, nullptr, false, true); }

Tensor mean(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return reduce("mean", x, &axes, keepdims, true);
}

Tensor argmax(const Tensor& x) try {
  require_real("argmax", x);
  require(x.rank() >= 1, "argmax needs at least one axis, got {}", x);
  Shape shape;
  for (int axis = 0; axis < x.rank() - 1; ++axis) shape.push_back(x.dim(axis));
  const Tensor y = Tensor::empty(shape, DType::i64);
  require(x.dim(-1) > 0 || y.elements() == 0, "argmax of {}: the last axis has no elements", x);
  launch(kernels::Argmax{make_dense(to_current_device(x)).view({y.elements(), x.dim(-1)}), y});
  return y;
} catch (Error& error) {
  rethrow_from("argmax", error);
}

}  // namespace lockstep
