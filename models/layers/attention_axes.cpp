#include "lockstep/models/layers/attention_axes.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

std::int64_t product_of(const Shape& shape, int begin, int end) {
  std::int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) product *= shape[axis];
  return product;
}

int number_of(const std::vector<int>& axes) { return static_cast<int>(axes.size()); }

}  // namespace

AttentionAxes::AttentionAxes(std::string_view layer, const std::vector<int>& attended, int rank) {
  for (const int axis : attended) attended_.push_back(axis < 0 ? axis + rank : axis);
  for (int axis = 1; axis < rank - 1; ++axis) {
    const std::ptrdiff_t times = attended.empty() ? 0 : std::ranges::count(attended_, axis);
    require(times <= 1, "{} needs different attention_axes, got ({})", layer, fmt::join(attended, ", "));
    if (attended.empty())
      attended_.push_back(axis);
    else if (times == 0)
      others_.push_back(axis);
  }
  require(std::ranges::all_of(attended_, [&](int axis) { return axis >= 1 && axis < rank - 1; }),
          "{} needs attention_axes between the batch axis and the features, got ({}) for inputs of {} axes", layer,
          fmt::join(attended, ", "), rank);
}

Shape AttentionAxes::scores(std::int64_t heads, const Shape& query, const Shape& key) const {
  Shape scores;
  for (const int axis : others_) scores.push_back(query[axis - 1]);
  scores.push_back(heads);
  for (const int axis : attended_) scores.push_back(query[axis - 1]);
  for (const int axis : attended_) scores.push_back(key[axis - 1]);
  return scores;
}

bool AttentionAxes::fits(const Shape& mask, const Shape& scores) const {
  const int after = 2 * number_of(attended_);
  const int before = mask.rank() - after;
  if (before < 0 || mask.rank() > scores.rank()) return false;
  const auto alike = [&](int axis, int of_scores) { return mask[axis] == 1 || mask[axis] == scores[of_scores]; };
  for (int axis = 0; axis < before; ++axis)
    if (!alike(axis, axis)) return false;
  for (int axis = before; axis < mask.rank(); ++axis)
    if (!alike(axis, axis - before + scores.rank() - after)) return false;
  return true;
}

Tensor AttentionAxes::sequences(const Tensor& x) const {
  if (x.rank() == 3) return x;
  std::vector<int> order{0};
  order.insert(order.end(), others_.begin(), others_.end());
  order.insert(order.end(), attended_.begin(), attended_.end());
  order.push_back(x.rank() - 1);
  const Tensor moved = transpose(x, order);
  const int first = 1 + number_of(others_);
  return reshape(moved,
                 {product_of(moved.shape(), 0, first), product_of(moved.shape(), first, x.rank() - 1), x.dim(-1)});
}

Tensor AttentionAxes::restored(const Tensor& sequences, const Shape& query) const {
  if (query.rank() == 3) return sequences;
  Shape moved{query[0]};
  std::vector<int> order(static_cast<std::size_t>(query.rank() - 1), 0);
  for (const std::vector<int>* const axes : {&others_, &attended_})
    for (const int axis : *axes) {
      order[static_cast<std::size_t>(axis)] = moved.rank();
      moved.push_back(query[axis]);
    }
  for (int axis = 2; axis < sequences.rank(); ++axis) {
    order.push_back(moved.rank());
    moved.push_back(sequences.dim(axis));
  }
  return transpose(reshape(sequences, moved), order);
}

Tensor AttentionAxes::with_all_axes(const Tensor& mask) const {
  const int after = 2 * number_of(attended_);
  const int rank = 2 + number_of(others_) + after;
  Shape shape;
  for (int axis = 0; axis < mask.rank() - after; ++axis) shape.push_back(mask.dim(axis));
  while (shape.rank() < rank - after) shape.push_back(1);
  for (int axis = mask.rank() - after; axis < mask.rank(); ++axis) shape.push_back(mask.dim(axis));
  return reshape(mask, shape);
}

Tensor AttentionAxes::of_sequences(const Tensor& mask, const Shape& scores) const {
  if (mask.rank() == 4) return mask;
  // Axes that become one axis must be broadcast before.
  const int heads = 1 + number_of(others_);
  const int keys = scores.rank() - number_of(attended_);
  Shape shape = mask.shape();
  for (const auto& [begin, end] : {std::pair(0, heads), std::pair(heads + 1, keys), std::pair(keys, scores.rank())})
    for (int axis = begin; axis < end; ++axis)
      if (end - begin > 1) shape[axis] = scores[axis];
  return reshape(broadcast_to(mask, shape),
                 {product_of(shape, 0, heads), shape[heads], product_of(shape, heads + 1, keys),
                  product_of(shape, keys, shape.rank())});
}

}  // namespace lockstep
