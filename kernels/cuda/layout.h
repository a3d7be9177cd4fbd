#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace lockstep::cudnn {

/// Sizes and strides (in elements) of four axes in cuDNN's order. Images: images, channels, rows, columns; kernels:
/// filters, channels of a group, rows, columns; operands of attention: examples, heads, time, size of a head.
struct Layout {
  ///@{
  /// Indexed by axis; the strides define the order in memory.
  std::array<std::int64_t, 4> sizes;
  std::array<std::int64_t, 4> strides;
  ///@}
  /// Number of elements from the first to the last in memory.
  std::int64_t elements() const {
    std::int64_t last = 0;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) last += (sizes[axis] - 1) * strides[axis];
    return last + 1;
  }
  /// Compares sizes and strides.
  friend auto operator<=>(const Layout&, const Layout&) = default;
};

}  // namespace lockstep::cudnn
