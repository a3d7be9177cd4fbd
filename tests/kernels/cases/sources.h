#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <kernels/cases/op_case.h>

// References of ops that move elements.

namespace lockstep::test {

/// The row-major index of the element at these indices of a tensor of `shape`.
inline std::int64_t number_of(const Shape& at, const Shape& shape) {
  std::int64_t number = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) number = number * shape[axis] + at[axis];
  return number;
}

/// Calls visit(indices) for each element of a tensor of `shape`, in row-major order.
template <class Visit>
void for_each_place(const Shape& shape, const Visit& visit) {
  for (std::int64_t number = 0; number < shape.elements(); ++number) {
    Shape at = shape;
    std::int64_t rest = number;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      at[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    visit(at);
  }
}

/// The row-major index of the input's element that becomes the result's element at these indices; -1 if the result's
/// element is 0.
using Source = std::function<std::int64_t(const Shape& at)>;

/// A reference whose result, of shape `result`, consists of elements of the first input.
inline Reference moved(const Shape& result, Source source) {
  return [=, source = std::move(source)](const Values& in) {
    std::vector<double> y;
    for_each_place(result, [&](const Shape& at) {
      const std::int64_t from = source(at);
      y.push_back(from < 0 ? 0 : in[0][static_cast<std::size_t>(from)]);
    });
    return y;
  };
}

}  // namespace lockstep::test
