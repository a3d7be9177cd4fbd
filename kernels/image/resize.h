#pragma once

#include <lockstep/kernels/window/window.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// How a value between pixels is interpolated, with Keras' names. nearest: the pixel whose area contains the position.
/// bilinear: the triangle kernel. bicubic: Keys' kernel with a = -0.5 (1981). lanczos3, lanczos5: sinc windows of these
/// radii.
enum class Interpolation { nearest, bilinear, bicubic, lanczos3, lanczos5 };

/// resize's options, under Keras' names.
struct ResizeOptions {
  Interpolation interpolation = Interpolation::bilinear;  ///< the method
  bool antialias = false;             ///< widens the kernel when an axis becomes smaller; not for nearest
  bool crop_to_aspect_ratio = false;  ///< first crops the images, in their middle, to the ratio of the new size
  bool pad_to_aspect_ratio = false;   ///< first pads the images on both sides to the ratio of the new size
  double fill_value = 0;              ///< value of the padded pixels
};

/// Resizes images (n, height, width, channels), or one image (height, width, channels), like keras.ops.image.resize.
/// Pixels are sampled at their centers; the weights of the pixels inside the image are scaled to a sum of 1. Images
/// that have the new size are returned unchanged. Takes f32 or bf16; nearest takes any dtype. Differentiable. Throws
/// InvalidArgument for other shapes and dtypes, for sizes below 1 or from 2^30 on, and for cropping and padding
/// together.
Tensor resize(const Tensor& images, Size2d size, const ResizeOptions& options = {});

}  // namespace lockstep
