#pragma once

#include <cstdint>

#include <lockstep/runtime/core/host_device.h>

// Which elements a sliding window covers, along one axis.

namespace lockstep {

/// Indices [begin, end); none where begin >= end.
struct IndexRange {
  std::int64_t begin, end;
};

/// A window that slides along an axis of `in` elements to `out` places.
struct WindowAxis {
  std::int64_t in, out, size, stride, pad;

  /// The elements under the window at place `at`.
  LOCKSTEP_HOST_DEVICE IndexRange covered(std::int64_t at) const {
    const std::int64_t first = at * stride - pad;
    const std::int64_t end = first + size;
    return {first < 0 ? 0 : first, end > in ? in : end};
  }
  /// The places where the window covers element i.
  LOCKSTEP_HOST_DEVICE IndexRange covering(std::int64_t i) const {
    const std::int64_t before = i + pad - size + 1;  // what the window's start must not lie before
    const std::int64_t last = (i + pad) / stride;
    return {before <= 0 ? 0 : (before + stride - 1) / stride, last + 1 > out ? out : last + 1};
  }
};

}  // namespace lockstep
