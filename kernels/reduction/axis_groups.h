#pragma once

#include <vector>

#include <lockstep/kernels/reduction/sum_axes.h>

namespace lockstep {

/// The axes as a set; negative ones count from the end. Throws InvalidArgument for an axis that the shape does not have
/// or that is given twice.
AxisSet axis_set(const Shape& shape, const std::vector<int>& axes);

/// `shape` with size 1 for each of `axes` if `keepdims`, otherwise without `axes`.
Shape reduced_shape(const Shape& shape, AxisSet axes, bool keepdims);

/// The shape as (outer, n, inner): n is the size of `axis`, outer and inner are the products of the sizes before and
/// after it. Precondition: `axis` is not negative.
Shape around_axis(const Shape& shape, int axis);

/// A shape as alternating kept and summed axes: neighboring axes of one kind are merged, and axes of size 1 are
/// dropped.
struct AxisGroups {
  Shape sizes;     ///< sizes of the groups
  AxisSet summed;  ///< the groups that are summed

  /// Groups the axes of a shape whose `axes` are summed.
  AxisGroups(const Shape& shape, AxisSet axes);
  /// The last summed group, or -1.
  int last_summed() const;
  /// Product of the sizes of groups [begin, end).
  std::int64_t product(int begin, int end) const;
};

}  // namespace lockstep
