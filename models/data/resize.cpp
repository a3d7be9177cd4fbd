#include "lockstep/models/data/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include <lockstep/runtime/data/host_context.h>

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

/// Some numbers that are mixed at once, of a pixel or of a row.
struct Numbers {
  static constexpr std::int64_t count = 4;
  using Vector __attribute__((vector_size(count * sizeof(float)))) = float;

  explicit Numbers(const float* from) { std::memcpy(&values, from, sizeof(values)); }
  void mix_and_store(const Numbers& others, float share, float* to) const {
    const Vector mixed = values + (others.values - values) * share;
    std::memcpy(to, &mixed, sizeof(mixed));
  }

  Vector values;
};

/// A row of an image that is resized to another width. Has room for the numbers that Numbers reads and writes after it.
struct ResizedRow {
  std::int64_t number = -1;
  std::vector<float> values{};
};

/// Resizes row `number` of `image` in `row`, with `scratch` for its numbers as f32.
template <class T>
void resize_row(const Tensor& image, std::int64_t number, const std::vector<PixelPosition>& columns,
                std::vector<float>& scratch, ResizedRow& row) {
  const std::int64_t channels = image.dim(2);
  const std::int64_t count = image.dim(1) * channels;
  const T* const from = image.data<T>() + number * count;
  scratch.resize(static_cast<std::size_t>(count + Numbers::count));
  std::copy_n(from, count, scratch.begin());
  row.number = number;
  row.values.resize(columns.size() * static_cast<std::size_t>(channels) + Numbers::count);
  float* to = row.values.data();
  for (const PixelPosition& column : columns) {
    const Numbers left(&scratch[static_cast<std::size_t>(column.low * channels)]);
    left.mix_and_store(Numbers(&scratch[static_cast<std::size_t>(column.high * channels)]), column.share, to);
    to += channels;
  }
}

/// Resizes in one direction after the other: neighboring rows of the result mostly need the same rows of the image.
template <class T>
Tensor resize(const Tensor& image, ImageSize size) {
  const std::vector<PixelPosition> columns = positions(image.dim(1), size.width);
  std::vector<float> scratch;
  std::array<ResizedRow, 2> resized;  // the last one with an even number and the last one with an odd number
  const auto row = [&](std::int64_t number) -> const float* {
    ResizedRow& found = resized[static_cast<std::size_t>(number % 2)];
    if (found.number != number) resize_row<T>(image, number, columns, scratch, found);
    return found.values.data();
  };
  Tensor result = Tensor::empty({size.height, size.width, image.dim(2)}, DType::f32, detail::host_context().device);
  float* to = result.data<float>();
  for (const PixelPosition& position : positions(image.dim(0), size.height)) {
    const float* const upper = row(position.low);
    const float* const lower = row(position.high);
    const std::int64_t count = size.width * image.dim(2);
    for (std::int64_t i = 0; i < count; ++i) to[i] = upper[i] + (lower[i] - upper[i]) * position.share;
    to += count;
  }
  return result;
}

}  // namespace

Tensor resize_bilinear(const Tensor& image, ImageSize size) {
  require(image.defined() && image.rank() == 3 && (image.dtype() == DType::u8 || image.dtype() == DType::f32) &&
              (image.dim(2) == 1 || image.dim(2) == 3),
          "an image to resize must be u8 or f32 of shape (height, width, 1 or 3 channels), got {}", image);
  require(image.elements() > 0 && size.height >= 1 && size.width >= 1,
          "an image of {} x {} pixels cannot become one of {} x {}", image.dim(0), image.dim(1), size.height,
          size.width);
  require(image.is_dense() && image.device().kind == DeviceKind::cpu,
          "an image to resize must be dense and in host memory, got {}", image);
  return image.dtype() == DType::u8 ? resize<std::uint8_t>(image, size) : resize<float>(image, size);
}

}  // namespace lockstep
