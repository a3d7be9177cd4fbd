#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Size of an image in pixels.
struct ImageSize {
  std::int64_t height = 0;  ///< number of rows
  std::int64_t width = 0;   ///< number of columns
};

/// Resizes an image (height, width, 1 or 3) u8 or f32; the result is f32 in the same units. Output pixels are sampled
/// at their centers, interpolated bilinearly between the four nearest pixels, with edge pixels repeated, without
/// antialiasing: tf.image.resize, as Keras' image layers and data sets use it. Throws InvalidArgument unless the image
/// has such a shape and dtype, has pixels, is dense and is in host memory, and for a size below 1.
Tensor resize_bilinear(const Tensor& image, ImageSize size);

}  // namespace lockstep
