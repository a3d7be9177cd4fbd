#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// In pixels.
struct ImageSize {
  std::int64_t height = 0;  ///< number of rows
  std::int64_t width = 0;   ///< number of columns
};

/// An image (height, width, 1 or 3) u8 or f32 in another size, f32 in the same units. Samples lie at the centers of
/// pixels and are interpolated bilinearly between the four nearest, borders repeated: tf.image.resize, which Keras'
/// image layers and data sets use, without antialiasing. Throws InvalidArgument for another rank or dtype, an image
/// without pixels, and a size below 1.
Tensor resize_bilinear(const Tensor& image, ImageSize size);

}  // namespace lockstep
