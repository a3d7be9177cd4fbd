#include "lockstep/kernels/array/pad.h"

#include <array>
#include <limits>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/number.h>

namespace lockstep {
namespace {

void check_widths(const Tensor& x, const std::vector<PadWidth>& widths) {
  require(widths.size() == static_cast<std::size_t>(x.rank()),
          "pad takes a width for each of the {} axes of {}, got {}", x.rank(), x, widths.size());
  constexpr std::int64_t limit = std::int64_t{1} << 61;
  for (const auto& [before, after] : widths) {
    require(before >= 0 && after >= 0, "pad takes widths of at least 0, got {} and {}", before, after);
    require(before < limit && after < limit, "pad takes widths below 2^61, got {} and {}", before, after);
  }
}

/// The part of a padded tensor that is x: all but the widths.
Tensor inner_part(Tensor y, const std::vector<PadWidth>& widths) {
  for (int axis = 0; axis < y.rank(); ++axis) {
    const auto& [before, after] = widths[static_cast<std::size_t>(axis)];
    if (before > 0 || after > 0) y = slice(y, axis, before, y.dim(axis) - after);
  }
  return y;
}

Tensor pad_with_number(const Tensor& x, const std::vector<PadWidth>& widths, double value) {
  Shape shape = x.shape();
  for (int axis = 0; axis < x.rank(); ++axis)
    shape[axis] += widths[static_cast<std::size_t>(axis)].before + widths[static_cast<std::size_t>(axis)].after;
  const Tensor y = Tensor::empty(shape, x.dtype());
  const Tensor border = number_like("pad", x, value);
  const auto fill = [&](const Tensor& part) {
    if (part.elements() > 0) launch(kernels::Convert{border.broadcast_view(part.shape()), part});
  };
  Tensor rest = y;  // without the borders of the axes before
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t begin = widths[static_cast<std::size_t>(axis)].before;
    const std::int64_t end = begin + x.dim(axis);
    fill(rest.slice_view(axis, 0, begin));
    fill(rest.slice_view(axis, end, rest.dim(axis)));
    rest = rest.slice_view(axis, begin, end);
  }
  launch(kernels::Convert{x, rest});
  if (recording({x}))
    record("pad", {x}, y, [widths](BackwardContext& c) { pass_on(c, 0, inner_part(c.gradient(0), widths)); });
  return y;
}

/// The most elements that `mode` can add before or after an axis of n elements.
std::int64_t most_width(PadMode mode, std::int64_t n) {
  if (mode == PadMode::edge) return n == 0 ? 0 : std::numeric_limits<std::int64_t>::max();
  return mode == PadMode::symmetric || n == 0 ? n : n - 1;
}

/// x with elements of its own added around `axis`.
Tensor pad_with_own(const Tensor& x, int axis, PadWidth width, PadMode mode) {
  const std::int64_t n = x.dim(axis);
  if (mode == PadMode::edge) {
    const auto repeated = [&](std::int64_t at, std::int64_t count) {
      Shape shape = x.shape();
      shape[axis] = count;
      return broadcast_to(slice(x, axis, at, at + 1), shape);
    };
    return concatenate(std::array{repeated(0, width.before), x, repeated(n - 1, width.after)}, axis);
  }
  const std::int64_t left_out = mode == PadMode::reflect ? 1 : 0;
  const auto mirrored = [&](std::int64_t begin, std::int64_t count) {
    return flip(slice(x, axis, begin, begin + count), {axis});
  };
  return concatenate(std::array{mirrored(left_out, width.before), x, mirrored(n - left_out - width.after, width.after)},
                     axis);
}

}  // namespace

Tensor pad(const Tensor& operand, const std::vector<PadWidth>& pad_width, PadMode mode, double constant_value) try {
  require_defined("pad", operand);
  check_widths(operand, pad_width);
  Tensor x = to_current_device(operand);
  if (mode == PadMode::constant) return pad_with_number(x, pad_width, constant_value);
  for (int axis = 0; axis < x.rank(); ++axis) {
    const PadWidth& width = pad_width[static_cast<std::size_t>(axis)];
    const std::int64_t most = most_width(mode, x.dim(axis));
    require(width.before <= most && width.after <= most,
            "pad: for this mode the widths of axis {} of {} must be at most {}, got {} and {}", axis, operand, most,
            width.before, width.after);
    if (width.before > 0 || width.after > 0) x = pad_with_own(x, axis, width, mode);
  }
  return dense_copy(x);
} catch (Error& error) {
  rethrow_from("pad", error);
}

Tensor slice_update(const Tensor& x, const std::vector<std::int64_t>& start_indices, const Tensor& updates) try {
  require_same_dtype("slice_update", x, updates);
  require(x.rank() == updates.rank() && start_indices.size() == static_cast<std::size_t>(x.rank()),
          "slice_update takes updates of x's rank and an index for each axis, got {}, {} and {} indices", x, updates,
          start_indices.size());
  std::vector<PadWidth> around;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t start = start_indices[static_cast<std::size_t>(axis)];
    const std::int64_t room = x.dim(axis) - updates.dim(axis);
    require(start >= 0 && start <= room, "slice_update of {}: {} from index {} of axis {} reaches beyond it", x,
            updates, start, axis);
    around.push_back({start, room - start});
  }
  const Tensor replaced = pad(Tensor::full(updates.shape(), 1, DType::boolean), around);
  return where(replaced, pad(updates, around), x);
} catch (Error& error) {
  rethrow_from("slice_update", error);
}

}  // namespace lockstep
