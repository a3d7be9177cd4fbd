#include "lockstep/kernels/ops/axis_groups.h"

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
