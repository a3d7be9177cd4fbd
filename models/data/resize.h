#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Size of an image in pixels.
struct ImageSize {
  std::int64_t height = 0;  ///< number of rows
  std::int64_t width = 0;   ///< number of columns
};

/// Resizes an image (height, width, channels) u8 or f32 with 1 or 3 channels; the result is f32 in the same units.
/// Output pixels are sampled at their centers, interpolated bilinearly between the four nearest pixels, with edge
/// pixels repeated, without antialiasing: tf.image.resize, as Keras' image layers and data sets use it. Throws
/// InvalidArgument if the image has another shape or dtype, has no pixels, is not dense or is not in host memory, and
/// for a size below 1.
Tensor resize_bilinear(const Tensor& image, ImageSize size);

}  // namespace lockstep
