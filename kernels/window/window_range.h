#pragma once

#include <cstdint>

#include <lockstep/runtime/core/host_device.h>

// Which elements a sliding window covers, along one axis.

namespace lockstep {

/// Indices [begin, end); none where begin >= end.
struct IndexRange {
  std::int64_t begin, end;
};

/// A window of `size` elements that slides along an axis of `in` elements to `out` positions.
struct WindowAxis {
  std::int64_t in, out, size, stride, pad;

  /// The elements under the window at position `at`.
  LOCKSTEP_HOST_DEVICE IndexRange covered(std::int64_t at) const {
    const std::int64_t first = at * stride - pad;
    const std::int64_t end = first + size;
    return {first < 0 ? 0 : first, end > in ? in : end};
  }
  /// The positions at which the window covers element i.
  LOCKSTEP_HOST_DEVICE IndexRange covering(std::int64_t i) const {
    const std::int64_t before = i + pad - size + 1;  // lower bound of the window's start
    const std::int64_t last = (i + pad) / stride;
    return {before <= 0 ? 0 : (before + stride - 1) / stride, last + 1 > out ? out : last + 1};
  }
};

}  // namespace lockstep
