#include "lockstep/kernels/array/shapes.h"

#include <algorithm>
#include <utility>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/elementwise/place_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gathered_rows.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/rows_kernels.h>
#include <lockstep/kernels/reduction/axis_groups.h>

namespace lockstep {
namespace {

/// The place of a new axis in a shape of rank `rank` without it.
int new_axis(const char* op, int rank, int axis) {
  const int place = axis < 0 ? axis + rank + 1 : axis;
  require(place >= 0 && place <= rank, "{}: the new axis {} is outside {} to {}", op, axis, -rank - 1, rank);
  return place;
}

/// x (outer, n, inner) -> (outer, count, n, inner) if `whole`, else (outer, n, count, inner), in the shape `shape`.
Tensor multiplied(const Tensor& x, const Shape& around, bool whole, std::int64_t count, const Shape& shape) {
  const auto [outer, n, inner] = std::array{around[0], around[1], around[2]};
  const Tensor once = reshape(x, whole ? Shape{outer, 1, n * inner} : Shape{outer * n, 1, inner});
  return reshape(broadcast_to(once, {once.dim(0), count, once.dim(2)}), shape);
}

/// For each slice of the result of `repeat`, the number of x's slice along `axis` that it repeats.
Tensor repeated_slices(const Tensor& x, const std::vector<std::int64_t>& repeats, int axis) {
  std::int64_t total = 0;
  for (const std::int64_t count : repeats) {
    require(count >= 0, "repeat repeats slices at least 0 times, got {}", count);
    require(count < (std::int64_t{1} << 62) - total, "repeat of {}: axis {} would have 2^62 slices or more", x, axis);
    total += count;
  }
  const Tensor slices = Tensor::empty({total}, DType::i64, LogicalDevice{});
  auto next = slices.span<std::int64_t>().begin();
  for (std::size_t i = 0; i < repeats.size(); ++i) next = std::fill_n(next, repeats[i], static_cast<std::int64_t>(i));
  return to_current_device(slices);
}

/// Throws InvalidArgument unless `axis` of x, repeated `count` times, has less than 2^62 elements.
void check_repeated(const char* op, const Tensor& x, int axis, std::int64_t count) {
  require(static_cast<double>(x.dim(axis)) * static_cast<double>(count) < 0x1p62,
          "{} of {}: axis {} cannot be repeated {} times", op, x, axis, count);
}

/// out (outer, n, inner) = x with the middle axis reversed.
void reverse(const Tensor& x, const Tensor& out) {
  const std::int64_t n = out.dim(1);
  const Tensor places = Tensor::empty({n}, DType::i64);
  launch(kernels::Range{static_cast<double>(n - 1), -1, places});
  launch(kernels::GatherRows{x, places, out});
}

Tensor flipped(const Tensor& x, int axis) {
  const Shape around = around_axis(x.shape(), axis);
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  reverse(make_dense(x).view(around), y.view(around));
  if (recording({x})) {
    record("flip", {x}, y, [shape = x.shape(), around, axis](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      contribute_linear(
          c, 0, shape, [&](const Tensor& out) { reverse(make_dense(dy).view(around), out.view(around)); },
          [axis](const Tensor& d) { return flipped(d, axis); }, dy.dtype());
    });
  }
  return y;
}

/// out = x shifted by `shift`, 0 <= shift <= n, along `axis`.
void shift_into(const Tensor& x, std::int64_t shift, int axis, const Tensor& out) {
  const std::int64_t n = x.dim(axis);
  launch(kernels::Convert{x.slice_view(axis, n - shift, n), out.slice_view(axis, 0, shift)});
  launch(kernels::Convert{x.slice_view(axis, 0, n - shift), out.slice_view(axis, shift, n)});
}

}  // namespace

Tensor expand_dims(const Tensor& x, int axis) {
  require_defined("expand_dims", x);
  const int place = new_axis("expand_dims", x.rank(), axis);
  Shape shape{1};
  for (const std::int64_t size : x.shape()) shape.push_back(size);
  Tensor y = x.broadcast_view(shape);
  for (int before = 0; before < place; ++before) y = y.transposed_view(before, before + 1);
  if (recording({x})) {
    record("expand_dims", {x}, y,
           [from = x.shape()](BackwardContext& c) { pass_on(c, 0, reshape(c.gradient(0), from)); });
  }
  return y;
}

Tensor expand_dims(const Tensor& x, const std::vector<int>& axes) {
  require_defined("expand_dims", x);
  const int others = x.rank() + static_cast<int>(axes.size()) - 1;  // axes of the result beside a new one
  std::vector<int> places;
  for (const int axis : axes) {
    places.push_back(new_axis("expand_dims", others, axis));
    require(std::ranges::count(places, places.back()) == 1, "expand_dims: the new axis {} is given twice", axis);
  }
  std::ranges::sort(places);
  Tensor y = x;
  for (const int place : places) y = expand_dims(y, place);
  return y;
}

Tensor squeeze(const Tensor& x) {
  require_defined("squeeze", x);
  std::vector<int> axes = all_axes(x);
  std::erase_if(axes, [&](int axis) { return x.dim(axis) != 1; });
  return squeeze(x, axes);
}

Tensor squeeze(const Tensor& x, const std::vector<int>& axes) try {
  require_defined("squeeze", x);
  const AxisSet left_out = axis_set(x.shape(), axes);
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    require(!left_out[static_cast<std::size_t>(axis)] || x.dim(axis) == 1, "squeeze: axis {} of {} is not of size 1",
            axis, x);
    if (!left_out[static_cast<std::size_t>(axis)]) shape.push_back(x.dim(axis));
  }
  return reshape(x, shape);
} catch (Error& error) {
  rethrow_from("squeeze", error);
}

Tensor stack(std::span<const Tensor> parts, int axis) try {
  require(!parts.empty(), "stack needs at least one tensor");
  for (const Tensor& part : parts) {
    require(part.defined(), "stack takes tensors, got an undefined one");
    require(part.shape() == parts[0].shape() && part.dtype() == parts[0].dtype(),
            "stack takes tensors of one shape and dtype, got {} and {}", parts[0], part);
  }
  const int place = new_axis("stack", parts[0].rank(), axis);
  std::vector<Tensor> slices;
  for (const Tensor& part : parts) slices.push_back(expand_dims(part, place));
  return concatenate(slices, place);
} catch (Error& error) {
  rethrow_from("stack", error);
}

std::vector<Tensor> unstack(const Tensor& x, int axis) try {
  require_defined("unstack", x);
  const int place = x.shape().normalize_axis(axis);
  if (x.dim(place) == 0) return {};
  std::vector<Tensor> parts = split(x, x.dim(place), place);
  for (Tensor& part : parts) part = squeeze(part, {place});
  return parts;
} catch (Error& error) {
  rethrow_from("unstack", error);
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  require_defined("broadcast_to", x);
  if (x.shape() == shape) return x;
  const Tensor y = x.broadcast_view(shape);
  if (recording({x})) {
    record("broadcast_to", {x}, y, [from = x.shape()](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      contribute_linear(
          c, 0, from, [&](const Tensor& out) { sum_to_shape(dy, out); },
          [shape = dy.shape()](const Tensor& d) { return broadcast_to(d, shape); }, dy.dtype());
    });
  }
  return y;
}

Tensor tile(const Tensor& operand, const std::vector<std::int64_t>& repeats) try {
  require_defined("tile", operand);
  Tensor x = to_current_device(operand);
  while (x.rank() < static_cast<int>(repeats.size())) x = expand_dims(x, 0);
  const int added = x.rank() - static_cast<int>(repeats.size());
  for (int axis = x.rank() - 1; axis >= added; --axis) {
    const std::int64_t count = repeats[static_cast<std::size_t>(axis - added)];
    require(count >= 0, "tile repeats axes at least 0 times, got {}", count);
    if (count == 1) continue;
    check_repeated("tile", x, axis, count);
    Shape shape = x.shape();
    shape[axis] *= count;
    x = multiplied(x, around_axis(x.shape(), axis), true, count, shape);
  }
  return dense_copy(x);
} catch (Error& error) {
  rethrow_from("tile", error);
}

Tensor repeat(const Tensor& operand, std::int64_t repeats, std::optional<int> along) try {
  require_defined("repeat", operand);
  if (!along) return repeat(reshape(operand, {operand.elements()}), repeats, 0);
  require(repeats >= 0, "repeat repeats slices at least 0 times, got {}", repeats);
  const Tensor x = to_current_device(operand);
  const int axis = x.shape().normalize_axis(*along);
  check_repeated("repeat", x, axis, repeats);
  Shape shape = x.shape();
  shape[axis] *= repeats;
  return dense_copy(multiplied(x, around_axis(x.shape(), axis), false, repeats, shape));
} catch (Error& error) {
  rethrow_from("repeat", error);
}

Tensor repeat(const Tensor& operand, const std::vector<std::int64_t>& repeats, std::optional<int> along) try {
  require_defined("repeat", operand);
  if (!along) return repeat(reshape(operand, {operand.elements()}), repeats, 0);
  if (repeats.size() == 1) return repeat(operand, repeats[0], along);
  const Tensor x = to_current_device(operand);
  const int axis = x.shape().normalize_axis(*along);
  require(static_cast<std::int64_t>(repeats.size()) == x.dim(axis),
          "repeat takes a number for each of the {} slices along axis {} of {}, got {} numbers", x.dim(axis), axis, x,
          repeats.size());
  const Tensor slices = repeated_slices(x, repeats, axis);
  Shape shape = x.shape();
  shape[axis] = slices.elements();
  return gathered_rows("repeat", x, around_axis(x.shape(), axis), slices, shape);
} catch (Error& error) {
  rethrow_from("repeat", error);
}

Tensor flip(const Tensor& x) {
  require_defined("flip", x);
  return flip(x, all_axes(x));
}

Tensor flip(const Tensor& operand, const std::vector<int>& axes) try {
  require_defined("flip", operand);
  Tensor x = to_current_device(operand);
  const AxisSet reversed = axis_set(x.shape(), axes);
  for (int axis = 0; axis < x.rank(); ++axis)
    if (reversed[static_cast<std::size_t>(axis)]) x = flipped(x, axis);
  return x;
} catch (Error& error) {
  rethrow_from("flip", error);
}

Tensor roll(const Tensor& x, std::int64_t shift) {
  require_defined("roll", x);
  return reshape(roll(reshape(x, {x.elements()}), shift, 0), x.shape());
}

Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes) {
  require_defined("roll", x);
  require(shifts.size() == axes.size(), "roll takes a shift for each axis, got {} shifts and {} axes", shifts.size(),
          axes.size());
  Tensor y = to_current_device(x);
  for (std::size_t i = 0; i < axes.size(); ++i) y = roll(y, shifts[i], axes[i]);
  return y;
}

Tensor roll(const Tensor& operand, std::int64_t shift, int axis) try {
  require_defined("roll", operand);
  const Tensor x = to_current_device(operand);
  axis = x.shape().normalize_axis(axis);
  const std::int64_t n = x.dim(axis);
  const std::int64_t forward = n == 0 ? 0 : (shift % n + n) % n;
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  shift_into(x, forward, axis, y);
  if (recording({x})) {
    record("roll", {x}, y, [shape = x.shape(), back = n - forward, axis](BackwardContext& c) {
      const Tensor& dy = c.gradient(0);
      contribute_linear(
          c, 0, shape, [&](const Tensor& out) { shift_into(dy, back, axis, out); },
          [back, axis](const Tensor& d) { return roll(d, -back, axis); }, dy.dtype());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("roll", error);
}

Tensor moveaxis(const Tensor& x, int source, int destination) {
  return moveaxis(x, std::vector{source}, std::vector{destination});
}

Tensor moveaxis(const Tensor& x, const std::vector<int>& sources, const std::vector<int>& destinations) try {
  require_defined("moveaxis", x);
  require(sources.size() == destinations.size(), "moveaxis takes a destination for each source, got {} and {}",
          destinations.size(), sources.size());
  const AxisSet moved = axis_set(x.shape(), sources);
  axis_set(x.shape(), destinations);  // throws for axes that are given twice
  std::vector<int> axes = all_axes(x);
  std::erase_if(axes, [&](int axis) { return moved[static_cast<std::size_t>(axis)]; });
  std::vector<std::pair<int, int>> moves;  // destination and source
  for (std::size_t i = 0; i < sources.size(); ++i)
    moves.emplace_back(x.shape().normalize_axis(destinations[i]), x.shape().normalize_axis(sources[i]));
  std::ranges::sort(moves);
  for (const auto& [to, from] : moves) axes.insert(axes.begin() + to, from);
  return transpose(x, axes);
} catch (Error& error) {
  rethrow_from("moveaxis", error);
}

Tensor swapaxes(const Tensor& x, int first, int second) {
  require_defined("swapaxes", x);
  std::vector<int> axes = all_axes(x);
  std::swap(axes[static_cast<std::size_t>(x.shape().normalize_axis(first))],
            axes[static_cast<std::size_t>(x.shape().normalize_axis(second))]);
  return transpose(x, axes);
}

std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, GridIndexing indexing) try {
  Shape shape;
  for (const Tensor& vector : vectors) {
    require(vector.defined() && vector.rank() == 1, "meshgrid takes vectors, got {}", vector);
    shape.push_back(vector.elements());
  }
  const bool exchanged = indexing == GridIndexing::xy && vectors.size() > 1;
  if (exchanged) std::swap(shape[0], shape[1]);
  std::vector<Tensor> grids;
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = exchanged && i < 2 ? 1 - i : i;
    Shape own(std::vector<std::int64_t>(vectors.size(), 1));
    own[axis] = shape[axis];
    grids.push_back(broadcast_to(reshape(vectors[static_cast<std::size_t>(i)], own), shape));
  }
  return grids;
} catch (Error& error) {
  rethrow_from("meshgrid", error);
}

Tensor stop_gradient(const Tensor& x) {
  require_defined("stop_gradient", x);
  return x.broadcast_view(x.shape());
}

}  // namespace lockstep
