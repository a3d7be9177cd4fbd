#pragma once

#include <cstdint>
#include <type_traits>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep::kernels {

/// Returns the index of the element whose value is used at position k of an axis of n elements; k may be outside the
/// axis. With FillMode::constant, returns the nearest element; the caller replaces its value by the fill value.
LOCKSTEP_HOST_DEVICE inline Index filled_index(Index k, Index n, FillMode mode) {
  if (k >= 0 && k < n) return k;
  if (mode == FillMode::nearest || mode == FillMode::constant) return k < 0 ? 0 : n - 1;
  const Index period = mode == FillMode::wrap ? n : 2 * n;
  const Index rest = k % period < 0 ? k % period + period : k % period;
  return rest < n ? rest : period - 1 - rest;
}

/// The position of a crop's pixel along an axis of the image, between two pixels. An index outside the image is
/// replaced by the result of filled_index.
struct CropPosition {
  Index low;     ///< the pixel at or before the position
  Index high;    ///< the pixel after `low`
  float share;   ///< weight of `high`; `low` has the weight 1 - share
  bool outside;  ///< true if the crop's pixel gets the fill value
};

/// The position of pixel i of a crop along an axis of n pixels. The crop begins at begin[0] + begin[1]; see
/// crop_and_flip.
LOCKSTEP_HOST_DEVICE inline CropPosition crop_position(Index i, const float* begin, Index n, FillMode mode) {
  const Index low = i + static_cast<Index>(begin[0]);
  const float share = begin[1];
  const bool beyond = low < 0 || low >= n || (low == n - 1 && share > 0);
  return {filled_index(low, n, mode), filled_index(low + 1, n, mode), share, beyond && mode == FillMode::constant};
}

/// Converts a value to a pixel: u8 is clipped to [0, 255] and rounded to nearest, i32 is clipped and truncated toward
/// 0.
template <class T>
LOCKSTEP_HOST_DEVICE T pixel_of(float value) {
  // The largest i32 is not an f32: interpolation rounds it up to 2^31.
  if constexpr (std::is_same_v<T, std::int32_t>) {
    if (value >= 0x1p31F) return INT32_MAX;
    if (value < -0x1p31F) return INT32_MIN;
  }
  if constexpr (!std::is_same_v<T, std::uint8_t>) return static_cast<T>(value);
  const float from_0 = value < 0.0F ? 0.0F : value;
  return static_cast<T>((from_0 > 255.0F ? 255.0F : from_0) + 0.5F);
}

/// One channel of a crop's pixel, interpolated between elements `left` and `right` of the image's rows `upper` and
/// `lower`. `share` is the weight of `right`, and `down` is the weight of `lower`.
template <class T>
LOCKSTEP_HOST_DEVICE T crop_pixel(const T* upper, const T* lower, float down, Index left, Index right, float share) {
  const auto between = [share](T from, T to) {
    return static_cast<float>(from) + (static_cast<float>(to) - static_cast<float>(from)) * share;
  };
  const float top = between(upper[left], upper[right]);
  const float bottom = between(lower[left], lower[right]);
  return pixel_of<T>(top + (bottom - top) * down);
}

/// Calls f.operator()<T>() with the C++ type of pixels of `dtype`: u8, i32 or f32.
template <class F>
void visit_pixels(DType dtype, const F& f) {
  if (dtype == DType::u8) return f.template operator()<std::uint8_t>();
  if (dtype == DType::i32) return f.template operator()<std::int32_t>();
  f.template operator()<float>();
}

}  // namespace lockstep::kernels
