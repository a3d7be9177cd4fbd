#pragma once

#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// crop_and_flip's options.
struct CropOptions {
  Size2d size{};                            ///< height and width of the crops
  FillMode fill_mode = FillMode::constant;  ///< values of the pixels outside of the images
  double fill_value = 0;                    ///< value of these pixels with FillMode::constant
};

/// Crops images (n, height, width, channels), u8, i32 or f32, to (n, size.height, size.width, channels), then flips
/// them; keeps the dtype. The row (top, more, left, more, vertical, horizontal) of `crops` (n, 6), f32, has the
/// position of the crop's first pixel in its image, as a whole number below 2^24 in size and a share of a pixel in [0,
/// 1) to be added to it, and is not 0 in the last two columns for an image to be turned upside down or mirrored. Values
/// between pixels are interpolated bilinearly; with FillMode::constant, those for which a pixel is missing have the
/// fill value. u8 is rounded to nearest, i32 towards 0. Not differentiable. Throws InvalidArgument for other shapes and
/// dtypes, for images without pixels and for a size below 1.
Tensor crop_and_flip(const Tensor& images, const Tensor& crops, const CropOptions& options);

}  // namespace lockstep
