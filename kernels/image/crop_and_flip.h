#pragma once

#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// crop_and_flip's options.
struct CropOptions {
  Size2d size{};                            ///< height and width of the crops
  FillMode fill_mode = FillMode::constant;  ///< values of the pixels outside the images
  double fill_value = 0;                    ///< value of the pixels outside the images with FillMode::constant
};

/// Crops images (n, height, width, channels), u8, i32 or f32, to (n, size.height, size.width, channels), then flips the
/// crops. The result has the images' dtype. Row i of `crops` (n, 6), f32, is (top, top_fraction, left, left_fraction,
/// vertical, horizontal) for image i. The crop's first pixel is at row top + top_fraction and column left +
/// left_fraction of the image. `top` and `left` must be whole numbers of magnitude below 2^24, and the fractions must
/// be in [0, 1); this is not checked. A nonzero `vertical` turns the crop upside down, and a nonzero `horizontal`
/// mirrors it. Values between pixels are interpolated bilinearly; with FillMode::constant, a value that depends on a
/// pixel outside the image is the fill value. Results are rounded to nearest for u8 and toward 0 for i32. Not
/// differentiable. Throws InvalidArgument for other shapes and dtypes, for images without pixels, for a size below 1
/// and for a fill_value that is not finite in f32.
Tensor crop_and_flip(const Tensor& images, const Tensor& crops, const CropOptions& options);

}  // namespace lockstep
