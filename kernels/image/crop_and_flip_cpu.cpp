#include <algorithm>
#include <vector>

#include <lockstep/kernels/image/crop_position.h>
#include <lockstep/kernels/image/image_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

using kernels::crop_pixel;
using kernels::CropPosition;
using kernels::Index;

/// The positions of the pixels of a crop along an axis of the image.
std::vector<CropPosition> crop_positions(Index size, const float* begin, Index n, FillMode mode, bool flipped) {
  std::vector<CropPosition> positions(static_cast<std::size_t>(size));
  for (Index i = 0; i < size; ++i)
    positions[static_cast<std::size_t>(flipped ? size - 1 - i : i)] = kernels::crop_position(i, begin, n, mode);
  return positions;
}

/// A row of a crop from two rows of the image. `known`: the number of channels, if it is common, else 0.
template <class T, Index known>
void crop_row(const T* upper, const T* lower, float down, const std::vector<CropPosition>& columns, Index all, T fill,
              T* to) {
  const Index channels = known > 0 ? known : all;
  for (const CropPosition& column : columns) {
    const auto [left, right, share, outside] = column;
    for (Index channel = 0; channel < channels; ++channel)
      *to++ =
          outside ? fill : crop_pixel(upper + channel, lower + channel, down, left * channels, right * channels, share);
  }
}

template <class T>
void crop_image(const kernels::CropAndFlip& k, Index image) {
  const Index channels = k.x.dim(3);
  const Index from_row = k.x.dim(2) * channels;
  const Index to_row = k.y.dim(2) * channels;
  const float* const crop = k.crops.data<float>() + image * 6;
  const std::vector<CropPosition> rows =
      crop_positions(k.y.dim(1), crop, k.x.dim(1), k.options.fill_mode, crop[4] != 0);
  const std::vector<CropPosition> columns =
      crop_positions(k.y.dim(2), crop + 2, k.x.dim(2), k.options.fill_mode, crop[5] != 0);
  const auto row_of_crop = channels == 1 ? crop_row<T, 1> : channels == 3 ? crop_row<T, 3> : crop_row<T, 0>;
  const T fill = kernels::pixel_of<T>(static_cast<float>(k.options.fill_value));
  const T* const from = k.x.data<T>() + image * k.x.dim(1) * from_row;
  T* to = k.y.data<T>() + image * k.y.dim(1) * to_row;
  for (const CropPosition& row : rows) {
    if (row.outside)
      std::fill_n(to, to_row, fill);
    else
      row_of_crop(from + row.low * from_row, from + row.high * from_row, row.share, columns, channels, fill, to);
    to += to_row;
  }
}

}  // namespace

void kernels::CropAndFlip::on_cpu() const {
  visit_pixels(x.dtype(), [&]<class T>() {
    parallel_for(y.dim(0), 1, [&](Index begin, Index end) {
      for (Index image = begin; image < end; ++image) crop_image<T>(*this, image);
    });
  });
}

}  // namespace lockstep
