#include "lockstep/models/data/image_preparation.h"

#include <algorithm>
#include <vector>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/models/data/device_constant.h>
#include <lockstep/runtime/core/batch_axis.h>
#include <lockstep/runtime/data/host_context.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr float white = 255.0F;

/// Sizes of an image. Gray bytes, (height, width), minus a mean of the same shape become (padded_height, padded_width,
/// channels).
struct ImageLayout {
  std::int64_t height;
  std::int64_t width;
  std::int64_t padding;
  std::int64_t channels;

  std::int64_t padded_height() const { return height + 2 * padding; }
  std::int64_t padded_width() const { return width + 2 * padding; }
};

float* fill_zeros(float* to, std::int64_t count) { return std::fill_n(to, count, 0.0F); }

template <int Channels>
float* prepare_row(const std::uint8_t* pixels, const float* mean, const ImageLayout& layout, float* to) {
  const std::int64_t channels = Channels > 0 ? Channels : layout.channels;
  for (std::int64_t column = 0; column < layout.width; ++column) {
    const float value = static_cast<float>(pixels[column]) / white - mean[column];
    for (std::int64_t channel = 0; channel < channels; ++channel) *to++ = value;
  }
  return to;
}

void prepare_image(const std::uint8_t* pixels, const float* mean, const ImageLayout& layout, float* to) {
  const std::int64_t border_rows = layout.padding * layout.padded_width() * layout.channels;
  const std::int64_t border_columns = layout.padding * layout.channels;
  const auto row = layout.channels == 1 ? prepare_row<1> : layout.channels == 3 ? prepare_row<3> : prepare_row<0>;
  to = fill_zeros(to, border_rows);
  for (std::int64_t y = 0; y < layout.height; ++y) {
    to = fill_zeros(to, border_columns);
    to = row(pixels + y * layout.width, mean + y * layout.width, layout, to);
    to = fill_zeros(to, border_columns);
  }
  fill_zeros(to, border_rows);
}

void check_images(const Tensor& images) {
  require(images.defined() && images.rank() == 3 && images.dtype() == DType::u8,
          "images must be u8 of shape (n, height, width), got {}", images);
}

/// prepare() of images on a GPU.
Tensor prepare_on_gpu(const Tensor& images, const Tensor& mean, const ImagePreparation& options) {
  const Tensor gray = expand_dims(cast(images, DType::f32) / Tensor::full({}, white) - mean, -1);
  const PadWidth border{options.padding, options.padding};
  return repeat(pad(gray, {{}, border, border, {}}), options.channels, -1);
}

Tensor prepare(const Tensor& images, const DeviceConstant& constant, const ImagePreparation& options) {
  check_images(images);
  require(images.dim(1) == options.mean.dim(0) && images.dim(2) == options.mean.dim(1),
          "images {} are not of the size of their mean {}", images, options.mean);
  if (is_on_gpu(images)) return prepare_on_gpu(images, constant.here(), options);
  const ImageLayout layout{images.dim(1), images.dim(2), options.padding, options.channels};
  const std::uint8_t* pixels = images.span<std::uint8_t>().data();
  const float* mean = options.mean.span<float>().data();
  Tensor result = Tensor::empty({images.dim(0), layout.padded_height(), layout.padded_width(), layout.channels},
                                DType::f32, detail::host_context().device);
  const std::int64_t from_image = layout.height * layout.width;
  const std::int64_t to_image = layout.padded_height() * layout.padded_width() * layout.channels;
  float* to = result.data<float>();
  parallel_for<LoopThreads::onetbb>(images.dim(0), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) prepare_image(pixels + i * from_image, mean, layout, to + i * to_image);
  });
  return result;
}

}  // namespace

Tensor mean_image(const Tensor& images) {
  require(images.defined() && (images.rank() == 3 || images.rank() == 4) && images.dtype() == DType::u8,
          "images must be u8 of shape (n, height, width) or (n, height, width, channels), got {}", images);
  const std::int64_t count = images.dim(0);
  require(count > 0, "the mean of no images is not defined");
  const std::int64_t pixels = images.elements() / count;
  const std::uint8_t* values = images.span<std::uint8_t>().data();
  Tensor mean = Tensor::empty(without_batch_axis(images.shape()), DType::f32, detail::host_context().device);
  float* to = mean.data<float>();
  parallel_for<LoopThreads::onetbb>(pixels, 64, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> sums(static_cast<std::size_t>(end - begin), 0);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint8_t* image = values + i * pixels + begin;
      for (std::size_t p = 0; p < sums.size(); ++p) sums[p] += image[p];
    }
    for (std::size_t p = 0; p < sums.size(); ++p)
      to[begin + static_cast<std::int64_t>(p)] =
          static_cast<float>(static_cast<double>(sums[p]) / (255.0 * static_cast<double>(count)));
  });
  return mean;
}

RowTransform image_preparation(const ImagePreparation& options) {
  require(options.mean.defined() && options.mean.rank() == 2 && options.mean.dtype() == DType::f32,
          "the mean image must be f32 of shape (height, width), got {}", options.mean);
  require(options.padding >= 0 && options.channels >= 1,
          "images need a padding of at least 0 and at least 1 channel, got {} and {}", options.padding,
          options.channels);
  return RowTransform([options, mean = DeviceConstant(options.mean)](const Example& batch) {
    return batch.with_x(prepare(batch.x(), mean, options));
  });
}

}  // namespace lockstep
