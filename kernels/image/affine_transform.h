#pragma once

#include <lockstep/kernels/image/resize.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Values of the pixels outside an image, with Keras' names. A row of pixels abcd is extended to aaa|abcd|ddd
/// (nearest), kkk|abcd|kkk with a given k (constant), cba|abcd|dcb (reflect) or bcd|abcd|abc (wrap).
enum class FillMode { nearest, constant, reflect, wrap };

/// affine_transform's options, under Keras' names.
struct AffineTransformOptions {
  Interpolation interpolation = Interpolation::bilinear;  ///< nearest or bilinear
  FillMode fill_mode = FillMode::constant;                ///< values of the pixels outside the images
  double fill_value = 0;  ///< value of the pixels outside the images with FillMode::constant
};

/// Transforms images (n, height, width, channels), f32 or bf16, like keras.ops.image.affine_transform. Row i of
/// `transforms` (n, 8), f32, is (a0, a1, a2, b0, b1, b2, c0, c1) for image i. Pixel (x, y) of the result is the image's
/// pixel at (a0 x + a1 y + a2, b0 x + b1 y + b2); c0 and c1 are not read. A pixel is NaN if a coordinate of this
/// position is not finite or has a magnitude of 2^40 or more. Differentiable with respect to the images; the gradient
/// adds a pixel's contributions in a fixed order. Throws InvalidArgument for other shapes and dtypes, interpolations
/// other than nearest and bilinear, images without pixels and a fill_value that is not finite in f32.
Tensor affine_transform(const Tensor& images, const Tensor& transforms, const AffineTransformOptions& options = {});

}  // namespace lockstep
