#pragma once

#include <cstdint>
#include <functional>

#include <lockstep/models/data/resize.h>
#include <lockstep/runtime/data/dataset.h>

// Functions for Dataset::map before batch(), with the words of Keras' ImageDataGenerator. x is one image, (height,
// width) or (height, width, channels), u8 or f32, and keeps its dtype, u8 rounded to nearest; y stays. What an image
// gets depends on the seed, the epoch and its number, on any number of threads. The functions throw InvalidArgument for
// other x.

namespace lockstep {

/// The values outside an image, as in scipy.ndimage: aaa|abcd|ddd, kkk|abcd|kkk with k = cval, cba|abcd|dcb.
enum class FillMode { nearest, constant, reflect };

/// By the names of Keras' ImageDataGenerator.
struct ImageAugmentation {
  double width_shift_range = 0;            ///< r < 1: uniform within -r..r of the width; r >= 1: in pixels
  double height_shift_range = 0;           ///< the same of the height
  bool horizontal_flip = false;            ///< half of the images
  bool vertical_flip = false;              ///< half of the images
  FillMode fill_mode = FillMode::nearest;  ///< of what is shifted in
  double cval = 0;                         ///< of FillMode::constant
  std::uint64_t seed = 0;                  ///< of the draws
};

/// Shifts by parts of pixels, interpolated bilinearly, then flips. Throws InvalidArgument for a negative or infinite
/// range.
std::function<Example(const Example&, const ElementId&)> image_augmentation(const ImageAugmentation& options);

/// Options of random crops.
struct RandomCrop {
  ImageSize size{};                         ///< of the result
  std::int64_t padding = 0;                 ///< rows and columns added on each side before
  FillMode fill_mode = FillMode::constant;  ///< of the padding
  double cval = 0;                          ///< of FillMode::constant
  std::uint64_t seed = 0;                   ///< of the draws
};

/// A part of the padded image, at a uniformly drawn place. Throws InvalidArgument for a size below 1 or negative
/// padding; the function for an image that is smaller than the size even with its padding.
std::function<Example(const Example&, const ElementId&)> random_crop(const RandomCrop& options);

}  // namespace lockstep
