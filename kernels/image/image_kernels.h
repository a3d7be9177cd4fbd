#pragma once

#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// lockstep::resize along the middle axis of x (outer, n, inner): y (outer, m, inner), real, maybe of another dtype;
/// for nearest, any dtype, which both have. n and m are at least 1 and below 2^30. `transposed`: the gradient, from y's
/// to x's, of a resizing from m to n; real.
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

/// lockstep::affine_transform (affine_transform.h): x and y (n, height, width, channels) real, transforms (n, 8).
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

/// What one of the four neighbors (or of the one, for nearest) of each pixel of dy (n, height, width, channels), real,
/// gets of it: row i of `values` (n height width, channels) belongs to pixel indices[i], i64, of all images; no_row if
/// the neighbor is outside of its image.
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

}  // namespace lockstep::kernels
