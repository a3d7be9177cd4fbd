#include "lockstep/models/data/image_augmentation.h"

#include <cmath>
#include <span>
#include <vector>

#include <lockstep/kernels/image/crop_and_flip.h>
#include <lockstep/kernels/op/finite_f32.h>
#include <lockstep/models/data/element_draws.h>
#include <lockstep/runtime/core/batch_axis.h>

namespace lockstep {
namespace {

/// How an image is moved: the position of its crop, then flips.
struct Move {
  double top = 0;
  double left = 0;
  bool vertical_flip = false;
  bool horizontal_flip = false;

  /// The same move with shifts rounded to whole pixels.
  Move in_whole_pixels() const {
    return {std::floor(top + 0.5), std::floor(left + 0.5), vertical_flip, horizontal_flip};
  }
};

/// The crops of crop_and_flip.
Tensor crops_of(const std::vector<Move>& moves) {
  std::vector<float> rows;
  for (const Move& move : moves) {
    for (const double begin : {move.top, move.left}) {
      rows.push_back(static_cast<float>(std::floor(begin)));
      rows.push_back(static_cast<float>(begin - std::floor(begin)));
    }
    for (const bool flip : {move.vertical_flip, move.horizontal_flip}) rows.push_back(flip ? 1 : 0);
  }
  return Tensor::from(rows, {static_cast<std::int64_t>(moves.size()), 6});
}

/// Images (n, height, width) or (n, height, width, channels), moved.
Tensor moved_images(const Tensor& images, const std::vector<Move>& moves, const CropOptions& options) {
  const std::int64_t channels = images.rank() == 4 ? images.dim(3) : 1;
  const Tensor crops =
      crop_and_flip(images.view({images.dim(0), images.dim(1), images.dim(2), channels}), crops_of(moves), options);
  Shape shape = images.shape();
  shape[1] = options.size.height;
  shape[2] = options.size.width;
  return crops.view(shape);
}

/// The rows with their images moved, and with their masks if options.mask.
template <class Options>
Batch moved(const Batch& rows, const std::vector<Move>& moves, ImageSize size, const Options& options) {
  CropOptions crop{.size = {size.height, size.width}, .fill_mode = options.fill_mode, .fill_value = options.cval};
  const Batch result = rows.with_x(moved_images(rows.x(), moves, crop));
  if (!options.mask) return result;
  std::vector<Move> whole;
  for (const Move& move : moves) whole.push_back(move.in_whole_pixels());
  crop.fill_value = options.mask_cval;
  return result.with_y(moved_images(rows.y(), whole, crop));
}

/// `first`: number of axes before an image's height.
void check_movable(const Example& example, bool has_mask, int first) {
  const auto is_image = [first](const Tensor& tensor, DType other) {
    const int axes = tensor.rank() - first;
    return tensor.defined() && (axes == 2 || axes == 3) && (tensor.dtype() == DType::u8 || tensor.dtype() == other);
  };
  const Tensor& image = example.x();
  require(is_image(image, DType::f32) && image.elements() > 0,
          "an image to augment must be u8 or f32 of shape (height, width) or (height, width, channels), got {}; map "
          "before batch()",
          image);
  if (!has_mask) return;
  const Tensor& mask = example.y();
  require(
      is_image(mask, DType::i32) && mask.dim(first) == image.dim(first) && mask.dim(first + 1) == image.dim(first + 1),
      "the mask of an image {} must be u8 or i32 of the same height and width, got {}", image, mask);
}

/// A tensor as the only row of a batch, and back.
Tensor as_row(const Tensor& tensor) { return tensor.view(with_batch_axis(tensor.shape())); }
Tensor only_row(const Tensor& rows) { return rows.view(without_batch_axis(rows.shape())); }

/// The positions of crops are whole numbers in f32.
constexpr std::int64_t position_limit = std::int64_t{1} << 24;

/// A transform that moves images. `size_of` returns the size of the results for images of a size; `draw` the move of
/// an image of that size, for its position in the data set.
template <class Options, class SizeOf, class Draw>
RandomTransform moving(const Options& options, const SizeOf& size_of, const Draw& draw) {
  require(is_finite_f32(options.cval), "an image's cval must be a finite f32, got {}", options.cval);
  const auto size = [](const Tensor& images, int first) { return ImageSize{images.dim(first), images.dim(first + 1)}; };
  const auto of_rows = [=](const Batch& rows, std::span<const ElementId> ids) {
    check_movable(rows, options.mask, 1);
    const ImageSize from = size(rows.x(), 1);
    const ImageSize to = size_of(rows.x(), from);
    std::vector<Move> moves;
    for (const ElementId& id : ids) moves.push_back(draw(from, id));
    return moved(rows, moves, to, options);
  };
  const auto of_element = [=](const Example& element, const ElementId& id) {
    check_movable(element, options.mask, 0);
    (void)size_of(element.x(), size(element.x(), 0));  // names the image in its error
    Batch row{{as_row(element.x())}};
    if (options.mask) row.targets = {as_row(element.y())};
    row = of_rows(row, std::span(&id, 1));
    const Example result = element.with_x(only_row(row.x()));
    return options.mask ? result.with_y(only_row(row.y())) : result;
  };
  return RandomTransform(of_element, of_rows);
}

/// Number of pixels to shift by.
double shift(double range, std::int64_t size, double uniform) {
  const double pixels = range < 1 ? range * static_cast<double>(size) : range;
  return (2 * uniform - 1) * pixels;
}

}  // namespace

RandomTransform image_augmentation(const ImageAugmentation& options) {
  for (const double range : {options.width_shift_range, options.height_shift_range})
    require(range >= 0 && range < static_cast<double>(position_limit),
            "a shift range must be 0 or more and below 2^24, got {}", range);
  const auto same_size = [](const Tensor&, ImageSize size) { return size; };
  const auto draw = [options](ImageSize size, const ElementId& id) {
    // All numbers are drawn, needed or not, so that an option does not change the effect of the others.
    ElementDraws draws(options.seed, DrawStream::augmentation, id);
    const double right = shift(options.width_shift_range, size.width, draws.uniform());
    const double down = shift(options.height_shift_range, size.height, draws.uniform());
    const bool mirror = draws.uniform() < 0.5;
    const bool turn_over = draws.uniform() < 0.5;
    return Move{down, right, options.vertical_flip && turn_over, options.horizontal_flip && mirror};
  };
  return moving(options, same_size, draw);
}

RandomTransform random_crop(const RandomCropOptions& options) {
  require(
      options.size.height >= 1 && options.size.width >= 1 && options.padding >= 0 && options.padding < position_limit,
      "a crop needs a size of at least 1 x 1 and a padding from 0 to below 2^24, got {} x {} and {}",
      options.size.height, options.size.width, options.padding);
  const auto spare = [options](ImageSize image) {
    return ImageSize{image.height + 2 * options.padding - options.size.height,
                     image.width + 2 * options.padding - options.size.width};
  };
  const auto crop_size = [options, spare](const Tensor& images, ImageSize image) {
    require(spare(image).height >= 0 && spare(image).width >= 0,
            "an image {} with a padding of {} is too small for a crop of {} x {}", images, options.padding,
            options.size.height, options.size.width);
    return options.size;
  };
  const auto draw = [options, spare](ImageSize image, const ElementId& id) {
    ElementDraws draws(options.seed, DrawStream::crop, id);
    const std::int64_t top = draws.below(spare(image).height + 1) - options.padding;
    const std::int64_t left = draws.below(spare(image).width + 1) - options.padding;
    return Move{static_cast<double>(top), static_cast<double>(left)};
  };
  return moving(options, crop_size, draw);
}

}  // namespace lockstep
