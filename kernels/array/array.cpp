#include "lockstep/kernels/array/array.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {
namespace {

/// The shape of the parts joined along `axis`, which must not be negative.
Shape joined_shape(std::span<const Tensor> parts, int axis) {
  Shape shape = parts[0].shape();
  shape[axis] = 0;
  for (const Tensor& part : parts) {
    Shape expected = parts[0].shape();
    require(part.rank() == expected.rank() && part.dtype() == parts[0].dtype(),
            "concatenate of {} and {}: rank or dtype differ", parts[0], part);
    expected[axis] = part.shape()[axis];
    require(part.shape() == expected, "concatenate along axis {} of {} and {}: the other sizes must agree", axis,
            parts[0], part);
    shape[axis] += part.shape()[axis];
  }
  return shape;
}

/// Calls visit(i, begin, end) for each part i with the range of `axis` that it has in the joined tensor.
template <class Visit>
void for_each_part(std::span<const std::int64_t> sizes, const Visit& visit) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    visit(static_cast<int>(i), begin, begin + sizes[i]);
    begin += sizes[i];
  }
}

/// split's gradient, by ops.
void contribute_joined(BackwardContext& c, const Shape& shape, DType dtype, int axis,
                       const std::vector<std::int64_t>& sizes) {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Shape part = shape;
    part[axis] = sizes[i];
    const Tensor& gradient = c.gradient(static_cast<int>(i));
    parts.push_back(gradient.defined() ? gradient : Tensor::zeros(part, dtype));
  }
  pass_on(c, 0, concatenate(parts, axis));
}

/// Parts of these sizes. Precondition: `axis` is not negative, and the sizes add up to its size.
std::vector<Tensor> split_up(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis) {
  std::vector<Tensor> ys;
  for_each_part(sizes,
                [&](int, std::int64_t begin, std::int64_t end) { ys.push_back(x.slice_view(axis, begin, end)); });
  if (recording({x})) {
    record("split", std::span(&x, 1), ys, [shape = x.shape(), dtype = x.dtype(), axis, sizes](BackwardContext& c) {
      if (c.is_recorded()) return contribute_joined(c, shape, dtype, axis, sizes);
      const auto write = [&](const Tensor& out) {
        launch(kernels::Fill{out, 0});
        for_each_part(sizes, [&](int i, std::int64_t begin, std::int64_t end) {
          if (const Tensor& gradient = c.gradient(i); gradient.defined())
            launch(kernels::Convert{gradient, out.slice_view(axis, begin, end)});
        });
      };
      contribute(c, 0, shape, write, dtype);
    });
  }
  return ys;
}

/// The axes of x in another order: axis i of the result is axis axes[i] of x. Precondition: a permutation.
Tensor permuted(const Tensor& x, const std::vector<int>& axes) {
  Tensor y = x;
  std::vector<int> at(axes.size());  // at[i]: the axis of x that is axis i of y
  std::iota(at.begin(), at.end(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto from = std::ranges::find(at, axes[i]);
    y = y.transposed_view(static_cast<int>(i), static_cast<int>(from - at.begin()));
    std::swap(at[i], *from);
  }
  return y;
}

/// If every part can be recomputed, lets `whole` be recomputed: each part is recomputed into its channel slice.
void record_recompute_of_parts(std::span<const Tensor> parts, const Tensor& whole, int axis,
                               const std::vector<std::int64_t>& sizes) {
  if (axis != whole.rank() - 1) return;
  std::vector<RecomputeFn> recomputes;
  for (const Tensor& part : parts) recomputes.push_back(recompute_of(part));
  if (!std::ranges::all_of(recomputes, [](const RecomputeFn& recompute) { return static_cast<bool>(recompute); }))
    return;
  record_recompute(whole, [recomputes, axis, sizes](const Tensor& again) {
    for_each_part(sizes, [&](int i, std::int64_t begin, std::int64_t end) {
      recomputes[static_cast<std::size_t>(i)](again.slice_view(axis, begin, end));
    });
  });
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) try {
  require_defined("reshape", x);
  const ContextScope there(context_on(x.device()));
  const Tensor y = make_dense(x).view(shape);
  if (recording({x})) {
    record("reshape", {x}, y, [from = x.shape()](BackwardContext& c) { pass_on(c, 0, reshape(c.gradient(0), from)); });
  }
  return y;
} catch (Error& error) {
  rethrow_from("reshape", error);
}

Tensor flatten(const Tensor& x) {
  require(x.defined() && x.rank() >= 1, "flatten needs at least one axis, got {}", x);
  std::int64_t rest = 1;
  for (int axis = 1; axis < x.rank(); ++axis) rest *= x.dim(axis);
  return reshape(x, {x.dim(0), rest});
}

Tensor concatenate(std::span<const Tensor> operands, int axis) try {
  require(!operands.empty(), "concatenate needs at least one tensor");
  for (const Tensor& part : operands) require(part.defined(), "concatenate takes tensors, got an undefined one");
  std::vector<Tensor> parts;
  for (const Tensor& part : operands) parts.push_back(to_current_device(part));
  axis = parts[0].shape().normalize_axis(axis);
  const Shape shape = joined_shape(parts, axis);
  std::vector<std::int64_t> sizes;
  for (const Tensor& part : parts) sizes.push_back(part.shape()[axis]);

  Tensor y = Tensor::joined(parts, axis);
  if (!y.defined()) {
    y = Tensor::empty(shape, parts[0].dtype());
    for_each_part(sizes, [&](int i, std::int64_t begin, std::int64_t end) {
      launch(kernels::Convert{parts[static_cast<std::size_t>(i)], y.slice_view(axis, begin, end)});
    });
  }
  if (recording(parts)) {
    record("concatenate", parts, std::span(&y, 1), [axis, sizes](BackwardContext& c) {
      for_each_part(sizes, [&](int i, std::int64_t begin, std::int64_t end) {
        pass_on(c, i, slice(c.gradient(0), axis, begin, end));
      });
    });
    record_recompute_of_parts(parts, y, axis, sizes);
  }
  return y;
} catch (Error& error) {
  rethrow_from("concatenate", error);
}

Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end) {
  require_defined("slice", x);
  const Tensor y = x.slice_view(axis, begin, end);
  if (recording({x})) {
    record("slice", {x}, y, [shape = x.shape(), axis, begin, end](BackwardContext& c) {
      contribute_linear(
          c, 0, shape,
          [&](const Tensor& out) {
            launch(kernels::Fill{out, 0});
            launch(kernels::Convert{c.gradient(0), out.slice_view(axis, begin, end)});
          },
          [axis, begin, end](const Tensor& d) { return slice(d, axis, begin, end); }, c.gradient(0).dtype());
    });
  }
  return y;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t parts, int axis) {
  require_defined("split", x);
  axis = x.shape().normalize_axis(axis);
  constexpr std::int64_t most = std::numeric_limits<int>::max();  // an op's gradient numbers its results by int
  require(parts >= 1 && parts <= most && x.dim(axis) % parts == 0, "split: axis {} of {} has no {} equal parts", axis,
          x, parts);
  return split_up(x, std::vector<std::int64_t>(static_cast<std::size_t>(parts), x.dim(axis) / parts), axis);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& indices, int axis) {
  require_defined("split", x);
  axis = x.shape().normalize_axis(axis);
  std::vector<std::int64_t> sizes;
  std::int64_t begin = 0;
  for (const std::int64_t end : indices) {
    require(end >= begin && end <= x.dim(axis), "split: index {} is outside {} to {} along axis {} of {}", end, begin,
            x.dim(axis), axis, x);
    sizes.push_back(end - begin);
    begin = end;
  }
  sizes.push_back(x.dim(axis) - begin);
  return split_up(x, sizes, axis);
}

Tensor transpose(const Tensor& x) {
  std::vector<int> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return transpose(x, axes);
}

Tensor transpose(const Tensor& x, const std::vector<int>& axes) {
  require_defined("transpose", x);
  std::vector<int> order;
  for (const int axis : axes) {
    order.push_back(x.shape().normalize_axis(axis));
    require(std::ranges::count(order, order.back()) == 1, "transpose: axis {} of {} is given twice", axis, x);
  }
  require(axes.size() == static_cast<std::size_t>(x.rank()), "transpose takes all {} axes of {}, got {}", x.rank(), x,
          axes.size());
  const Tensor y = permuted(x, order);
  if (recording({x})) {
    record("transpose", {x}, y, [order](BackwardContext& c) {
      std::vector<int> back(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
      pass_on(c, 0, transpose(c.gradient(0), back));
    });
  }
  return y;
}

Tensor zero_pad2d(const Tensor& operand, const Borders2d& borders) try {
  require(operand.defined() && operand.rank() == 4 && is_real(operand.dtype()),
          "zero_pad2d: x must be f32 or bf16 (n, height, width, channels), got {}", operand);
  const auto [top, bottom, left, right] = borders;
  require(top >= 0 && bottom >= 0 && left >= 0 && right >= 0,
          "zero_pad2d takes borders of at least 0, got {}, {}, {} and {}", top, bottom, left, right);
  return pad(operand, {{}, {top, bottom}, {left, right}, {}});
} catch (Error& error) {
  rethrow_from("zero_pad2d", error);
}

Tensor dense_copy(const Tensor& operand) try {
  const Tensor x = to_current_device(operand);
  if (x.is_dense()) return x;
  const Tensor y = make_dense(x);
  if (recording({x})) record("dense_copy", {x}, y, [](BackwardContext& c) { pass_on(c, 0, c.gradient(0)); });
  return y;
} catch (Error& error) {
  rethrow_from("dense_copy", error);
}

}  // namespace lockstep
