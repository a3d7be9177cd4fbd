#include "lockstep/kernels/image/resize.h"

#include <algorithm>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/image/image_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/gradient.h>

namespace lockstep {
namespace {

/// The axis of the rows; the next one is that of the columns.
int rows_of(const Tensor& images) { return images.rank() - 3; }

void check_resize(const Tensor& images, Size2d size, const ResizeOptions& options) {
  constexpr std::int64_t limit = std::int64_t{1} << 30;
  const auto fits = [](std::int64_t pixels) { return pixels >= 1 && pixels < limit; };
  require_defined("resize", images);
  require(images.rank() == 3 || images.rank() == 4,
          "resize takes images (n, height, width, channels) or (height, width, channels), got {}", images);
  if (options.interpolation != Interpolation::nearest) require_real("resize", images);
  require(fits(images.dim(-3)) && fits(images.dim(-2)) && fits(size.height) && fits(size.width),
          "resize takes sizes from 1 to below 2^30, got {} x {} for {}", size.height, size.width, images);
  require(!options.crop_to_aspect_ratio || !options.pad_to_aspect_ratio,
          "resize takes one of crop_to_aspect_ratio and pad_to_aspect_ratio, got both");
}

/// x with its rows and columns cropped or padded, in Keras' order of rounding, to about the ratio of `size`.
Tensor in_aspect_ratio(const Tensor& x, Size2d size, const ResizeOptions& options) {
  const int rows = rows_of(x);
  const std::int64_t height = x.dim(rows);
  const std::int64_t width = x.dim(rows + 1);
  const std::int64_t fitting_height = width * size.height / size.width;
  const std::int64_t fitting_width = height * size.width / size.height;
  if (options.crop_to_aspect_ratio) {
    const auto middle = [](const Tensor& of, int axis, std::int64_t fitting) {
      const std::int64_t kept = std::clamp<std::int64_t>(fitting, 1, of.dim(axis));
      const std::int64_t begin = (of.dim(axis) - kept) / 2;
      return slice(of, axis, begin, begin + kept);
    };
    return middle(middle(x, rows, fitting_height), rows + 1, fitting_width);
  }
  std::vector<PadWidth> borders(static_cast<std::size_t>(x.rank()));
  const auto around = [](std::int64_t missing) {
    return missing > 0 ? PadWidth{missing / 2, missing / 2} : PadWidth{};
  };
  borders[static_cast<std::size_t>(rows)] = around(fitting_height - height);
  borders[static_cast<std::size_t>(rows) + 1] = around(fitting_width - width);
  return pad(x, borders, PadMode::constant, options.fill_value);
}

/// Resizes the dense x to the dense y, of another size. `transposed`: as in kernels::Resize.
void resize_dense(const Tensor& x, const ResizeOptions& options, bool transposed, const Tensor& y) {
  const auto batch = [](const Tensor& t) { return t.rank() == 4 ? t : t.view({1, t.dim(0), t.dim(1), t.dim(2)}); };
  launch(kernels::Resize{batch(x), options.interpolation, options.antialias, transposed, batch(y)});
}

}  // namespace

Tensor resize(const Tensor& images, Size2d size, const ResizeOptions& options) try {
  check_resize(images, size, options);
  const Tensor here = to_current_device(images);
  const bool fitted = options.crop_to_aspect_ratio || options.pad_to_aspect_ratio;
  const Tensor x = dense_copy(fitted ? in_aspect_ratio(here, size, options) : here);
  Shape shape = x.shape();
  shape[rows_of(x)] = size.height;
  shape[rows_of(x) + 1] = size.width;
  if (shape == x.shape()) return x;
  const Tensor y = Tensor::empty(shape, x.dtype());
  resize_dense(x, options, false, y);
  if (recording({x})) {
    ResizeOptions axes = options;  // x is already in the aspect ratio
    axes.crop_to_aspect_ratio = axes.pad_to_aspect_ratio = false;
    record("resize", {x}, y, [axes, size, from = x.shape(), dtype = x.dtype()](BackwardContext& c) {
      contribute_linear(
          c, 0, from, [&](const Tensor& out) { resize_dense(make_dense(c.gradient(0)), axes, true, out); },
          [axes, size](const Tensor& d) { return resize(d, size, axes); }, dtype);
    });
  }
  return y;
} catch (Error& error) {
  rethrow_from("resize", error);
}

}  // namespace lockstep
