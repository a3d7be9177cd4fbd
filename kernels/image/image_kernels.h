#pragma once

#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/image/crop_and_flip.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// lockstep::resize along the middle axis of x (outer, n, inner) -> y (outer, m, inner). x and y are each f32 or bf16;
/// for nearest, they have one dtype, which can be any. n and m are at least 1 and below 2^30. `transposed`: instead
/// computes the gradient of resizing from m to n; x is the gradient of the result and y that of the operand, both f32
/// or bf16.
struct ResizeAxis {
  Tensor x;
  Interpolation interpolation;
  bool antialias;
  bool transposed;
  Tensor y;

  static constexpr const char* name = "resize_axis";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

/// lockstep::affine_transform (affine_transform.h): x and y (n, height, width, channels) f32 or bf16, transforms (n,
/// 8).
struct AffineTransform {
  Tensor x;
  Tensor transforms;
  AffineTransformOptions options;
  Tensor y;

  static constexpr const char* name = "affine_transform";
  auto operands() const { return kernels::operands(x, transforms, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

/// The gradient of AffineTransform from dy (n, height, width, channels), f32 or bf16. Each pixel of dy contributes to
/// four neighboring pixels of the image, or to one for nearest; this kernel computes the contributions to neighbor
/// number `neighbor`. Row i of `values` (n height width, channels) is the contribution of pixel i of dy, and
/// indices[i], i64, is the number of the neighbor among the pixels of all images, or no_row if the neighbor is outside
/// its image.
struct AffineTransformGradient {
  Tensor dy;
  Tensor transforms;
  AffineTransformOptions options;
  int neighbor;  ///< 0 to 3
  Tensor values;
  Tensor indices;

  static constexpr const char* name = "affine_transform_gradient";
  auto operands() const { return kernels::operands(dy, transforms, values, indices); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
};

/// lockstep::crop_and_flip (crop_and_flip.h): x (n, height, width, channels) and y (n, size.height, size.width,
/// channels) u8, i32 or f32; crops (n, 6).
struct CropAndFlip {
  Tensor x;
  Tensor crops;
  CropOptions options;
  Tensor y;

  static constexpr const char* name = "crop_and_flip";
  auto operands() const { return kernels::operands(x, crops, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_host() const;
  void on_gpu() const;
  void on_cpu() const;
};

}  // namespace lockstep::kernels
