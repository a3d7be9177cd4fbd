#include "lockstep/models/data/image_augmentation.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include <lockstep/models/data/element_draws.h>

namespace lockstep {
namespace {

/// An output pixel's position along one axis of the input, `share` of the way from pixel `low` to pixel `high`.
struct Position {
  std::int64_t low;
  std::int64_t high;
  float share;
  bool outside;  ///< whether the output pixel gets the value cval
};

struct Axis {
  std::int64_t from;  ///< number of input pixels
  std::int64_t to;    ///< number of output pixels
  double begin;       ///< position of output pixel 0 in the input
};

std::int64_t inside(std::int64_t index, std::int64_t size, FillMode mode) {
  if (mode == FillMode::nearest || mode == FillMode::constant) return std::clamp<std::int64_t>(index, 0, size - 1);
  const std::int64_t period = mode == FillMode::wrap ? size : 2 * size;
  const std::int64_t place = (index % period + period) % period;
  return place < size ? place : period - 1 - place;
}

std::vector<Position> positions(const Axis& axis, FillMode mode) {
  const double whole = std::floor(axis.begin);
  const auto share = static_cast<float>(axis.begin - whole);
  std::vector<Position> result;
  result.reserve(static_cast<std::size_t>(axis.to));
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const std::int64_t low = i + static_cast<std::int64_t>(whole);
    const bool beyond = low < 0 || low >= axis.from || (low == axis.from - 1 && share > 0);
    result.push_back(
        {inside(low, axis.from, mode), inside(low + 1, axis.from, mode), share, beyond && mode == FillMode::constant});
  }
  return result;
}

template <class T>
T converted(float value) {
  if constexpr (std::is_same_v<T, std::uint8_t>)
    return static_cast<T>(std::clamp(value, 0.0F, 255.0F) + 0.5F);
  else
    return static_cast<T>(value);
}

/// Input rows and columns of the output pixels.
struct Grid {
  std::vector<Position> rows;
  std::vector<Position> columns;
  float cval;
};

template <class T>
void sample_row(const T* upper, const T* lower, float down, const Grid& grid, std::int64_t channels, T* to) {
  for (const Position& column : grid.columns) {
    const T* const corners[] = {upper + column.low * channels, upper + column.high * channels,
                                lower + column.low * channels, lower + column.high * channels};
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      float value = grid.cval;
      if (!column.outside) {
        const auto corner = [&](int i) { return static_cast<float>(corners[i][channel]); };
        const float top = corner(0) + (corner(1) - corner(0)) * column.share;
        const float bottom = corner(2) + (corner(3) - corner(2)) * column.share;
        value = top + (bottom - top) * down;
      }
      *to++ = converted<T>(value);
    }
  }
}

template <class T>
Tensor sample(const Tensor& image, const Grid& grid) {
  const std::int64_t channels = image.rank() == 3 ? image.dim(2) : 1;
  Shape shape = image.shape();
  shape[0] = static_cast<std::int64_t>(grid.rows.size());
  shape[1] = static_cast<std::int64_t>(grid.columns.size());
  Tensor result = Tensor::empty(shape, image.dtype());
  const T* from = image.span<T>().data();
  const std::int64_t from_row = image.dim(1) * channels;
  T* to = result.data<T>();
  for (const Position& row : grid.rows) {
    if (row.outside)
      std::fill_n(to, shape[1] * channels, converted<T>(grid.cval));
    else
      sample_row(from + row.low * from_row, from + row.high * from_row, row.share, grid, channels, to);
    to += shape[1] * channels;
  }
  return result;
}

/// How an image is moved: by sampling it at the positions of output pixels, and then by flips.
struct Move {
  Axis rows;
  Axis columns;
  FillMode fill_mode;
  bool horizontal_flip = false;
  bool vertical_flip = false;

  Grid grid(double cval) const {
    Grid grid{positions(rows, fill_mode), positions(columns, fill_mode), static_cast<float>(cval)};
    if (horizontal_flip) std::reverse(grid.columns.begin(), grid.columns.end());
    if (vertical_flip) std::reverse(grid.rows.begin(), grid.rows.end());
    return grid;
  }
  /// The same move with shifts rounded to whole pixels.
  Move in_whole_pixels() const {
    Move whole = *this;
    for (Axis* const axis : {&whole.rows, &whole.columns}) axis->begin = std::floor(axis->begin + 0.5);
    return whole;
  }
};

/// The example with its image moved, and with its mask if options.mask.
template <class Options>
Example moved(const Example& example, const Move& move, const Options& options) {
  const Tensor& image = example.x();
  const Grid grid = move.grid(options.cval);
  const Example result =
      example.with_x(image.dtype() == DType::u8 ? sample<std::uint8_t>(image, grid) : sample<float>(image, grid));
  if (!options.mask) return result;
  const Tensor& mask = example.y();
  const Grid mask_grid = move.in_whole_pixels().grid(options.mask_cval);
  return result.with_y(mask.dtype() == DType::u8 ? sample<std::uint8_t>(mask, mask_grid)
                                                 : sample<std::int32_t>(mask, mask_grid));
}

void check(const Example& example, bool has_mask) {
  const Tensor& image = example.x();
  require(image.defined() && (image.rank() == 2 || image.rank() == 3) &&
              (image.dtype() == DType::u8 || image.dtype() == DType::f32) && image.elements() > 0,
          "an image to augment must be u8 or f32 of shape (height, width) or (height, width, channels), got {}; map "
          "before batch()",
          image);
  if (!has_mask) return;
  const Tensor& mask = example.y();
  require(mask.defined() && (mask.rank() == 2 || mask.rank() == 3) &&
              (mask.dtype() == DType::u8 || mask.dtype() == DType::i32) && mask.dim(0) == image.dim(0) &&
              mask.dim(1) == image.dim(1),
          "the mask of an image {} must be u8 or i32 of the same height and width, got {}", image, mask);
}

/// Number of pixels to shift by.
double shift(double range, std::int64_t size, double uniform) {
  const double pixels = range < 1 ? range * static_cast<double>(size) : range;
  return (2 * uniform - 1) * pixels;
}

}  // namespace

std::function<Example(const Example&, const ElementId&)> image_augmentation(const ImageAugmentation& options) {
  for (const double range : {options.width_shift_range, options.height_shift_range})
    require(range >= 0 && std::isfinite(range), "a shift range must be 0 or more, got {}", range);
  return [options](const Example& example, const ElementId& id) {
    const Tensor& image = example.x();
    check(example, options.mask);
    // All numbers are drawn, even if they are not used, so that an option does not change the effect of the others.
    ElementDraws draws(options.seed, DrawStream::augmentation, id);
    const double right = shift(options.width_shift_range, image.dim(1), draws.uniform());
    const double down = shift(options.height_shift_range, image.dim(0), draws.uniform());
    const bool mirror = draws.uniform() < 0.5;
    const bool turn_over = draws.uniform() < 0.5;
    const Move move{{image.dim(0), image.dim(0), down},
                    {image.dim(1), image.dim(1), right},
                    options.fill_mode,
                    options.horizontal_flip && mirror,
                    options.vertical_flip && turn_over};
    return moved(example, move, options);
  };
}

std::function<Example(const Example&, const ElementId&)> random_crop(const RandomCropOptions& options) {
  require(options.size.height >= 1 && options.size.width >= 1 && options.padding >= 0,
          "a crop needs a size of at least 1 x 1 and a padding of at least 0, got {} x {} and {}", options.size.height,
          options.size.width, options.padding);
  return [options](const Example& example, const ElementId& id) {
    const Tensor& image = example.x();
    check(example, options.mask);
    const std::int64_t spare_rows = image.dim(0) + 2 * options.padding - options.size.height;
    const std::int64_t spare_columns = image.dim(1) + 2 * options.padding - options.size.width;
    require(spare_rows >= 0 && spare_columns >= 0,
            "an image {} with a padding of {} is too small for a crop of {} x {}", image, options.padding,
            options.size.height, options.size.width);
    ElementDraws draws(options.seed, DrawStream::crop, id);
    const std::int64_t top = draws.below(spare_rows + 1) - options.padding;
    const std::int64_t left = draws.below(spare_columns + 1) - options.padding;
    const Move move{{image.dim(0), options.size.height, static_cast<double>(top)},
                    {image.dim(1), options.size.width, static_cast<double>(left)},
                    options.fill_mode};
    return moved(example, move, options);
  };
}

}  // namespace lockstep
