#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// How a value between pixels is interpolated, with Keras' names. `nearest` takes the pixel whose area contains the
/// position, `bilinear` uses the triangle kernel, `bicubic` uses Keys' kernel (1981) with a = -0.5, and `lanczos3` and
/// `lanczos5` use Lanczos' windowed sinc of radius 3 and 5.
enum class Interpolation { nearest, bilinear, bicubic, lanczos3, lanczos5 };

/// resize's options, under Keras' names.
struct ResizeOptions {
  Interpolation interpolation = Interpolation::bilinear;  ///< the method
  bool antialias = false;             ///< widens the kernel if an axis becomes smaller; nearest ignores it
  bool crop_to_aspect_ratio = false;  ///< first crops the images around their center to the new aspect ratio
  bool pad_to_aspect_ratio = false;   ///< first pads the images on both sides to the new aspect ratio
  double fill_value = 0;              ///< value of the padded pixels
};

/// Resizes images (n, height, width, channels), or one image (height, width, channels), like keras.ops.image.resize.
/// Pixels are sampled at their centers; the weights of the pixels inside the image are scaled to a sum of 1. Images
/// that already have the new size are returned unchanged. The images are f32 or bf16, or of any dtype for `nearest`.
/// Differentiable for f32 and bf16. Throws InvalidArgument for other shapes and dtypes, for an old or new height or
/// width outside [1, 2^30), for cropping and padding together, and for padding with a fill_value that the dtype cannot
/// represent.
Tensor resize(const Tensor& images, Size2d size, const ResizeOptions& options = {});

}  // namespace lockstep
