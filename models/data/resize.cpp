#include "lockstep/models/data/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep {
namespace {

/// An output pixel's position along one axis of the input, `share` of the way from pixel `low` to pixel `high`.
struct PixelPosition {
  std::int64_t low;
  std::int64_t high;
  float share;
};

std::vector<PixelPosition> positions(std::int64_t from, std::int64_t to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  std::vector<PixelPosition> result;
  result.reserve(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const float at = (static_cast<float>(i) + 0.5F) * scale - 0.5F;
    const float below = std::floor(at);
    const auto low = static_cast<std::int64_t>(below);
    result.push_back(
        {std::clamp<std::int64_t>(low, 0, from - 1), std::clamp<std::int64_t>(low + 1, 0, from - 1), at - below});
  }
  return result;
}

template <class T, int Channels>
void resize_row(const T* upper, const T* lower, float down, const std::vector<PixelPosition>& columns, float* to) {
  for (const PixelPosition& column : columns)
    for (std::int64_t channel = 0; channel < Channels; ++channel) {
      const std::int64_t left = column.low * Channels + channel;
      const std::int64_t right = column.high * Channels + channel;
      const auto mix = [](float a, float b, float share) { return a + (b - a) * share; };
      const float top = mix(static_cast<float>(upper[left]), static_cast<float>(upper[right]), column.share);
      const float bottom = mix(static_cast<float>(lower[left]), static_cast<float>(lower[right]), column.share);
      *to++ = mix(top, bottom, down);
    }
}

template <class T, int Channels>
Tensor resize(const Tensor& image, ImageSize size) {
  const std::vector<PixelPosition> rows = positions(image.dim(0), size.height);
  const std::vector<PixelPosition> columns = positions(image.dim(1), size.width);
  const std::int64_t from_row = image.dim(1) * Channels;
  const T* from = image.span<T>().data();
  Tensor result = Tensor::empty({size.height, size.width, Channels});
  float* to = result.data<float>();
  for (const PixelPosition& row : rows) {
    resize_row<T, Channels>(from + row.low * from_row, from + row.high * from_row, row.share, columns, to);
    to += size.width * Channels;
  }
  return result;
}

template <class T>
Tensor resize(const Tensor& image, ImageSize size) {
  return image.dim(2) == 1 ? resize<T, 1>(image, size) : resize<T, 3>(image, size);
}

}  // namespace

Tensor resize_bilinear(const Tensor& image, ImageSize size) {
  require(image.defined() && image.rank() == 3 && (image.dtype() == DType::u8 || image.dtype() == DType::f32) &&
              (image.dim(2) == 1 || image.dim(2) == 3),
          "an image to resize must be u8 or f32 of shape (height, width, 1 or 3 channels), got {}", image);
  require(image.elements() > 0 && size.height >= 1 && size.width >= 1,
          "an image of {} x {} pixels cannot become one of {} x {}", image.dim(0), image.dim(1), size.height,
          size.width);
  return image.dtype() == DType::u8 ? resize<std::uint8_t>(image, size) : resize<float>(image, size);
}

}  // namespace lockstep
