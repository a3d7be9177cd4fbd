#pragma once

#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/image/crop_and_flip.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// lockstep::resize: x and y are (n, height, width, channels). Each is f32 or bf16; with Interpolation::nearest, they
/// may also both have any other dtype. Heights and widths are at least 1 and below 2^30; y differs from x in height or
/// width. With `transposed`, computes the gradient of resizing instead: x is the gradient of the result and y the
/// gradient of the operand, both f32 or bf16.
struct Resize {
  Tensor x;
  Interpolation interpolation;
  bool antialias;
  bool transposed;
  Tensor y;

  static constexpr const char* name = "resize";
  auto operands() const { return kernels::operands(x, y); }
  /// Whether to resize the height first: true unless resizing the width first makes the intermediate result smaller.
  bool rows_first() const { return y.dim(1) * x.dim(2) <= x.dim(1) * y.dim(2); }
  /// Whether each element of y is a copy of an element of x, not a sum.
  bool copies() const { return interpolation == Interpolation::nearest && !transposed; }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// lockstep::affine_transform (affine_transform.h): x and y (n, height, width, channels) f32 or bf16, transforms (n,
/// 8) f32.
struct AffineTransform {
  Tensor x;
  Tensor transforms;
  AffineTransformOptions options;
  Tensor y;

  static constexpr const char* name = "affine_transform";
  auto operands() const { return kernels::operands(x, transforms, y); }
  template <class Executor>
  void run(Executor& on) const;
};

/// The gradient of AffineTransform from dy (n, height, width, channels), f32 or bf16. Each pixel of dy contributes to
/// four neighboring pixels of the image or, with Interpolation::nearest, to one. One run computes the contributions to
/// the neighbor with the number `neighbor`. Row i of `values` (n * height * width, channels) f32 is the contribution of
/// pixel i of dy. indices[i], i64, is the index of this neighbor among the pixels of all images, or no_row
/// (op/rows_kernels.h) if the neighbor has the fill value or the weight 0.
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
};

/// lockstep::crop_and_flip (crop_and_flip.h): x (n, height, width, channels) and y (n, size.height, size.width,
/// channels), both u8, i32 or f32; crops (n, 6) f32.
struct CropAndFlip {
  Tensor x;
  Tensor crops;
  CropOptions options;
  Tensor y;

  static constexpr const char* name = "crop_and_flip";
  auto operands() const { return kernels::operands(x, crops, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

}  // namespace lockstep::kernels
