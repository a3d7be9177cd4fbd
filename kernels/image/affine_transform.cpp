#include "lockstep/kernels/image/affine_transform.h"

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/image/image_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/finite_f32.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/kernels/op/rows_kernels.h>

namespace lockstep {
namespace {

void check_affine_transform(const Tensor& images, const Tensor& transforms, const AffineTransformOptions& options) {
  require_real("affine_transform", images);
  require_f32("affine_transform", transforms);
  require(images.rank() == 4 && images.dim(1) >= 1 && images.dim(2) >= 1,
          "affine_transform takes images (n, height, width, channels), got {}", images);
  require(transforms.shape() == (Shape{images.dim(0), 8}), "affine_transform takes transforms (n, 8) for {}, got {}",
          images, transforms);
  require(options.interpolation == Interpolation::nearest || options.interpolation == Interpolation::bilinear,
          "affine_transform interpolates by nearest or bilinear");
  require(is_finite_f32(options.fill_value), "affine_transform takes a finite fill_value of f32, got {}",
          options.fill_value);
}

/// The gradient with respect to the images, in f32. Each neighbor's contributions are added in the order of the pixels.
Tensor image_gradient(const Tensor& dy, const Tensor& transforms, const AffineTransformOptions& options) {
  const std::int64_t channels = dy.dim(3);
  const std::int64_t pixels = dy.dim(0) * dy.dim(1) * dy.dim(2);
  const Tensor dx = Tensor::zeros(dy.shape());
  const Tensor values = Tensor::empty({pixels, channels});
  const Tensor indices = Tensor::empty({pixels}, DType::i64);
  const Shape rows{1, pixels, channels};
  for (int neighbor = 0; neighbor < (options.interpolation == Interpolation::nearest ? 1 : 4); ++neighbor) {
    launch(kernels::AffineTransformGradient{dy, transforms, options, neighbor, values, indices});
    launch(kernels::ScatterRows{values.view(rows), indices, Write::add, dx.view(rows)});
  }
  return dx;
}

}  // namespace

Tensor affine_transform(const Tensor& images, const Tensor& transforms, const AffineTransformOptions& options) try {
  check_affine_transform(images, transforms, options);
  const Tensor x = dense_copy(images);
  const Tensor rows = make_dense(to_current_device(transforms));
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::AffineTransform{x, rows, options, y});
  if (recording({x})) {
    record("affine_transform", {x}, y, [rows, options](BackwardContext& c) {
      const Tensor dy = make_dense(c.gradient(0));
      AffineTransformOptions linear = options;
      linear.fill_value = 0;
      contribute_linear(
          c, 0, dy.shape(), [&](const Tensor& out) { assign(image_gradient(dy, rows, options), out); },
          [rows, linear](const Tensor& d) { return affine_transform(d, rows, linear); }, dy.dtype());
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("affine_transform", error);
}

}  // namespace lockstep
