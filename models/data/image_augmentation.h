#pragma once

#include <cstdint>

#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/models/data/resize.h>
#include <lockstep/runtime/data/dataset.h>

// Random transforms for Dataset::map before batch(), with the option names of Keras' ImageDataGenerator. x is one
// image, (height, width) or (height, width, channels), u8 or f32, and keeps its dtype (u8 values are rounded to
// nearest); y is unchanged. With the option `mask`, y is a mask of class numbers, (height, width) or (height, width,
// channels), u8 or i32, of the image's height and width. The mask is moved with the image, but by whole pixels, because
// class numbers cannot be interpolated. A cval for u8 images is clipped to [0, 255] and rounded to nearest. The
// transform of an image depends only on the seed, the epoch and the image's number, not on the number of threads. The
// returned functions throw InvalidArgument if x has no elements, and if x or a mask has another shape or dtype.

namespace lockstep {

/// image_augmentation's options, under the names of Keras' ImageDataGenerator.
struct ImageAugmentation {
  double width_shift_range = 0;            ///< r < 1: uniform in -r..r times the width; r >= 1: in -r..r pixels
  double height_shift_range = 0;           ///< the same range for the height
  bool horizontal_flip = false;            ///< swaps left and right with probability 1/2
  bool vertical_flip = false;              ///< swaps top and bottom with probability 1/2
  FillMode fill_mode = FillMode::nearest;  ///< values of pixels shifted in from outside
  double cval = 0;                         ///< the value of FillMode::constant
  bool mask = false;                       ///< y is a mask, which is moved with the image
  std::uint8_t mask_cval = 0;              ///< the class of FillMode::constant in a mask
  std::uint64_t seed = 0;                  ///< seed of the random numbers
};

/// Shifts an image by random distances, which may be fractions of pixels (bilinear interpolation), then flips it at
/// random. Throws InvalidArgument for a range that is negative or 2^24 or more, and for a cval that is not finite
/// in f32.
RandomTransform image_augmentation(const ImageAugmentation& options);

/// random_crop's options.
struct RandomCropOptions {
  ImageSize size{};                         ///< size of the crop
  std::int64_t padding = 0;                 ///< rows and columns added on each side before cropping
  FillMode fill_mode = FillMode::constant;  ///< values of the padding
  double cval = 0;                          ///< the value of FillMode::constant
  bool mask = false;                        ///< y is a mask, which is cropped with the image
  std::uint8_t mask_cval = 0;               ///< the class of FillMode::constant in a mask
  std::uint64_t seed = 0;                   ///< seed of the random numbers
};

/// Pads an image and crops it at a uniformly drawn position. Throws InvalidArgument for a size below 1, for a padding
/// that is negative or 2^24 or more, and for a cval that is not finite in f32; the returned function throws it for an
/// image that is smaller than the crop even with its padding.
RandomTransform random_crop(const RandomCropOptions& options);

}  // namespace lockstep
