#include "lockstep/kernels/reduction/axis_groups.h"

namespace lockstep {

AxisSet axis_set(const Shape& shape, const std::vector<int>& axes) {
  AxisSet set;
  for (const int axis : axes) {
    const int normal = shape.normalize_axis(axis);
    require(!set[normal], "axis {} of shape {} is given twice", axis, shape);
    set[normal] = true;
  }
  return set;
}

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

Shape around_axis(const Shape& shape, int axis) {
  Shape around{1, shape[axis], 1};
  for (int other = 0; other < axis; ++other) around[0] *= shape[other];
  for (int other = axis + 1; other < shape.rank(); ++other) around[2] *= shape[other];
  return around;
}

AxisGroups::AxisGroups(const Shape& shape, AxisSet axes) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const int last = sizes.rank() - 1;
    if (last >= 0 && summed[last] == axes[axis]) {
      sizes[last] *= shape[axis];
    } else {
      summed[sizes.rank()] = axes[axis];
      sizes.push_back(shape[axis]);
    }
  }
}

int AxisGroups::last_summed() const {
  for (int i = sizes.rank() - 1; i >= 0; --i)
    if (summed[i]) return i;
  return -1;
}

std::int64_t AxisGroups::product(int begin, int end) const {
  std::int64_t result = 1;
  for (int i = begin; i < end; ++i) result *= sizes[i];
  return result;
}

}  // namespace lockstep
