#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/sorting/sort.h>

namespace lockstep::test {

/// For each element of the sorted result (..., count, ...), its index in the row-major x. Equal elements keep their
/// order; NaN is larger than all numbers.
inline std::vector<std::size_t> sorted_places(const Shape& shape, int axis, std::int64_t count, SortDirection direction,
                                              const std::vector<double>& x) {
  std::size_t inner = 1;
  for (int after = shape.normalize_axis(axis) + 1; after < shape.rank(); ++after)
    inner *= static_cast<std::size_t>(shape[after]);
  const auto n = static_cast<std::size_t>(shape.dim(axis));
  const auto kept = static_cast<std::size_t>(count);
  const std::size_t columns = n == 0 ? 0 : x.size() / n;
  std::vector<std::size_t> places(columns * kept);
  const auto less = [&](std::size_t a, std::size_t b) {
    return x[a] < x[b] || (!std::isnan(x[a]) && std::isnan(x[b]));
  };
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t outer = column / inner;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < n; ++i) order.push_back((outer * n + i) * inner + column % inner);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return direction == SortDirection::ascending ? less(a, b) : less(b, a);
    });
    for (std::size_t i = 0; i < kept; ++i) places[(outer * kept + i) * inner + column % inner] = order[i];
  }
  return places;
}

/// Unordered numbers, in host memory, that differ enough for a step of a difference quotient not to change their order.
inline Tensor distinct_numbers(const Shape& shape, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), -7.0F);
  std::ranges::shuffle(values, std::mt19937(seed));
  for (float& value : values) value *= 0.125F;
  return Tensor::from(values, shape);
}

}  // namespace lockstep::test
