#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include <kernels/cases/op_case.h>

// References of ops that reduce axes.

namespace lockstep::test {

/// The elements that are reduced to each element of the result.
inline Values groups(const Shape& shape, const std::vector<int>& axes, const std::vector<double>& x) {
  std::vector<bool> reduced(static_cast<std::size_t>(shape.rank()));
  for (const int axis : axes) reduced[static_cast<std::size_t>(shape.normalize_axis(axis))] = true;
  std::int64_t size = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) size *= reduced[static_cast<std::size_t>(axis)] ? 1 : shape[axis];
  Values result(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t rest = i, at = 0, step = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto n = static_cast<std::size_t>(shape[axis]);
      if (!reduced[static_cast<std::size_t>(axis)]) {
        at += rest % n * step;
        step *= n;
      }
      rest /= n;
    }
    result[at].push_back(x[i]);
  }
  return result;
}

using Elements = const std::vector<double>&;

/// The reference of a reduction that is f of each group.
inline Reference of_groups(const Shape& shape, const std::vector<int>& axes, std::function<double(Elements)> f) {
  return [=](const Values& in) {
    std::vector<double> y;
    for (Elements group : groups(shape, axes, in[0])) y.push_back(f(group));
    return y;
  };
}

inline double sum_of(Elements x) { return std::accumulate(x.begin(), x.end(), 0.0); }
inline double largest_of(Elements x) { return *std::ranges::max_element(x); }
inline double smallest_of(Elements x) { return *std::ranges::min_element(x); }
inline double squares_of(Elements x) { return std::inner_product(x.begin(), x.end(), x.begin(), 0.0); }

}  // namespace lockstep::test
