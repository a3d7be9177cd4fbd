#pragma once

#include <cstdint>

namespace lockstep {

/// Size, strides, explicit padding and, of a convolution, the distance of taps of a window.
struct Window2d {
  ///@{
  /// In rows and columns of x.
  std::int64_t height = 1, width = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
  ///@}
};

}  // namespace lockstep
