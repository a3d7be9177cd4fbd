#include "lockstep/kernels/array/over_axes.h"

#include <numeric>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/reduction/axis_groups.h>

namespace lockstep {

std::vector<int> all_axes(const Tensor& x) {
  std::vector<int> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Tensor over_axes(const char* op, const Tensor& x, const std::vector<int>& axes,
                 const std::function<Tensor(const Tensor&)>& function) {
  const AxisSet joined = axis_set(x.shape(), axes);
  require(joined.any(), "{} needs at least one axis, got none for {}", op, x);
  std::vector<int> order;
  Shape rows;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (joined[static_cast<std::size_t>(axis)]) continue;
    order.push_back(axis);
    rows.push_back(x.dim(axis));
  }
  std::int64_t elements = 1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!joined[static_cast<std::size_t>(axis)]) continue;
    order.push_back(axis);
    elements *= x.dim(axis);
  }
  rows.push_back(elements);
  if (joined.count() == 1 && order.back() == x.rank() - 1) return function(x);
  std::vector<int> back(order.size());
  for (std::size_t place = 0; place < order.size(); ++place)
    back[static_cast<std::size_t>(order[place])] = static_cast<int>(place);
  const Tensor moved = transpose(x, order);
  return transpose(reshape(function(reshape(moved, rows)), moved.shape()), back);
}

}  // namespace lockstep
