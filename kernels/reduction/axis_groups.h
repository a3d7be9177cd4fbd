#pragma once

#include <vector>

#include <lockstep/kernels/reduction/sum_axes.h>

namespace lockstep {

/// The set of these axes, of which negative ones count from the end. Throws InvalidArgument for one that the shape does
/// not have, or that is given twice.
AxisSet axis_set(const Shape& shape, const std::vector<int>& axes);

/// The shape as (outer, n, inner), where n is the size of `axis`, which counts from the front.
Shape around_axis(const Shape& shape, int axis);

/// A shape as alternating kept and summed axes, neighbors of a kind multiplied together and axes of size 1 left out.
struct AxisGroups {
  Shape sizes;     ///< of the groups
  AxisSet summed;  ///< which groups are

  /// Of a shape whose `axes` are summed.
  AxisGroups(const Shape& shape, AxisSet axes);
  /// The last summed group, or -1.
  int last_summed() const;
  /// Product of the sizes of groups [begin, end).
  std::int64_t product(int begin, int end) const;
};

}  // namespace lockstep
