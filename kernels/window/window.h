#pragma once

#include <cstdint>

namespace lockstep {

/// Size, strides and explicit padding of a sliding window, and for convolutions its dilation (distance between taps).
struct Window2d {
  ///@{
  /// In rows and columns of x.
  std::int64_t height = 1, width = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
  ///@}
};

/// Keras' padding: `valid` adds none; `same` pads so that output = ceil(input / stride), with one more row or column at
/// the end if the padding is odd.
enum class Padding { valid, same };

/// One size per spatial axis.
struct Size2d {
  /// 0 x 0.
  constexpr Size2d() = default;
  /// The same size for both axes, as in Keras.
  constexpr Size2d(std::int64_t both) : height(both), width(both) {}  // NOLINT: implicit
  /// A size for each axis.
  constexpr Size2d(std::int64_t height, std::int64_t width) : height(height), width(width) {}

  std::int64_t height = 0;  ///< along axis 1 of (n, h, w, c)
  std::int64_t width = 0;   ///< along axis 2
};

}  // namespace lockstep
