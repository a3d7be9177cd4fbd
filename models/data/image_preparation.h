#pragma once

#include <cstdint>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// How gray images of bytes become a network's input.
struct ImagePreparation {
  Tensor mean{};              ///< (height, width) f32, subtracted: mean_image() of the training images, for every split
  std::int64_t padding = 2;   ///< rows and columns of zeros on each side: 28 x 28 becomes 32 x 32
  std::int64_t channels = 3;  ///< equal copies of the gray value
};

/// The mean over images u8 of each pixel / 255: (n, height, width) -> (height, width) f32, (n, height, width, channels)
/// -> (height, width, channels). Summed in integers, so the same on any number of threads. Throws InvalidArgument for
/// another shape or dtype, or no images.
Tensor mean_image(const Tensor& images);

/// A function for Dataset::map after batch(), that turns x from (n, height, width) u8 into
/// (n, height + 2 padding, width + 2 padding, channels) f32: pixel / 255 - mean, and leaves y alone. One pass per
/// batch: the set itself stays in bytes, a sixteenth of the memory at 3 channels. Throws InvalidArgument for a mean
/// that is not (height, width) f32, negative padding, or no channels; the function for x of another shape or dtype.
RowTransform image_preparation(const ImagePreparation& options);

}  // namespace lockstep
