#pragma once

#include <cstdint>

#include <lockstep/kernels/executor/divisor.h>
#include <lockstep/runtime/core/host_device.h>

// Which elements a sliding window covers, along one axis.

namespace lockstep {

/// Indices [begin, end); empty if begin >= end.
template <class Int>
struct IndexRange {
  Int begin, end;
};

/// A window that slides along an axis. Int must hold the sum of all members.
template <class Int>
struct WindowAxis {
  Int in;    ///< elements of the axis
  Int out;   ///< positions of the window
  Int size;  ///< elements of the window
  Int pad;   ///< elements of padding before the axis
  kernels::Divisor stride;

  WindowAxis(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride, std::int64_t pad)
      : in(static_cast<Int>(in)),
        out(static_cast<Int>(out)),
        size(static_cast<Int>(size)),
        pad(static_cast<Int>(pad)),
        stride(stride) {}

  /// The elements under the window at position `at`.
  LOCKSTEP_HOST_DEVICE IndexRange<Int> covered(Int at) const {
    const Int first = at * static_cast<Int>(stride.value()) - pad;
    const Int end = first + size;
    return {first < 0 ? 0 : first, end > in ? in : end};
  }
  /// The positions at which the window covers element i.
  LOCKSTEP_HOST_DEVICE IndexRange<Int> covering(Int i) const {
    // The window at position p covers i if i + pad - size < p * stride <= i + pad. The smallest such p is
    // (i + pad - size + stride) / stride, rounded down.
    const Int first = i + pad - size + static_cast<Int>(stride.value());
    const Int last = (i + pad) / stride;
    return {first < 0 ? 0 : first / stride, last + 1 > out ? out : last + 1};
  }
};

}  // namespace lockstep
