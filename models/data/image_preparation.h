#pragma once

#include <cstdint>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// image_preparation's options.
struct ImagePreparation {
  /// (height, width) f32 in host memory, subtracted from each image after division by 255. Use mean_image() of the
  /// training images for test images, too.
  Tensor mean{};
  std::int64_t padding = 2;   ///< rows and columns of zeros on each side of the result; 2 pads 28 x 28 to 32 x 32
  std::int64_t channels = 3;  ///< number of copies of the gray value
};

/// The mean image, scaled to [0, 1]: for each pixel, the mean over the images of value / 255. (n, height, width) u8
/// gives (height, width) f32; (n, height, width, channels) u8 gives (height, width, channels) f32. Sums integers, so
/// the result does not depend on the number of threads. Throws InvalidArgument unless `images` has one of these shapes,
/// is u8 in host memory and has at least one image.
Tensor mean_image(const Tensor& images);

/// A function for Dataset::map after batch(). It converts x from (n, height, width) u8 to (n, height + 2 padding, width
/// + 2 padding, channels) f32 with the values pixel / 255 - mean, and leaves y unchanged. Batches are converted when
/// they are read; the data set stays u8, which takes about 1/16 of the memory of the converted images (28 x 28, default
/// options). Throws InvalidArgument for a mean that is not (height, width) f32, for negative padding and for channels
/// below 1; the returned function throws it unless x holds u8 images of the mean's size.
RowTransform image_preparation(const ImagePreparation& options);

}  // namespace lockstep
