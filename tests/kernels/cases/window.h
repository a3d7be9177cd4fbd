#pragma once

#include <algorithm>
#include <cstdint>

#include <lockstep/kernels/window/window2d.h>

namespace lockstep::test {

/// Number of results along an axis, and the padding before it.
struct Extent {
  std::int64_t size, pad;
};

inline Extent extent_along(std::int64_t input, std::int64_t taps, std::int64_t dilation, std::int64_t stride,
                           Padding padding) {
  const std::int64_t window = (taps - 1) * dilation + 1;
  if (padding == Padding::valid) return {(input - window + stride) / stride, 0};
  const std::int64_t size = (input - 1) / stride + 1;
  return {size, std::max<std::int64_t>(0, (size - 1) * stride + window - input) / 2};
}

}  // namespace lockstep::test
