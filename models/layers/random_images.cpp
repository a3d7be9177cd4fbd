#include "lockstep/models/layers/random_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/op/finite_f32.h>
#include <lockstep/kernels/random/random.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>
#include <lockstep/models/layers/option_names.h>
#include <lockstep/models/layers/random_draws.h>

namespace lockstep {
namespace {

using Bounds = std::vector<double>;

/// A range in a file: one number for both sides, or two bounds. Two bounds are always written.
RandomRange range_of(const LayerConfig& config, const char* key, const Bounds& bounds) {
  require<InputError>(bounds.size() == 1 || bounds.size() == 2, "{} takes a number or two for {}, got {}",
                      config.class_name(), key, bounds.size());
  const auto [lower, upper] = std::ranges::minmax(bounds);
  return bounds.size() == 1 ? RandomRange(lower) : RandomRange(lower, upper);
}

void list_range(LayerConfig& config, const char* key, RandomRange& range) {
  Bounds bounds{range.lower, range.upper};
  config.one_or_more(key, bounds);
  range = range_of(config, key, bounds);
}

/// An empty range is null in files.
void list_range(LayerConfig& config, const char* key, std::optional<RandomRange>& range) {
  Bounds bounds;
  if (range) bounds = {range->lower, range->upper};
  config.one_or_more(key, bounds);
  range = bounds.empty() ? std::optional<RandomRange>() : range_of(config, key, bounds);
}

template <class Options>
void list_sampling(LayerConfig& config, Options& options) {
  config.choice("fill_mode", options.fill_mode, fill_mode_names);
  config.option("interpolation", options.interpolation);
  config.passed_over("seed");
  config.option("fill_value", options.fill_value);
  config.channels_last();
}

/// Throws InvalidArgument unless the range lies in [least, 1].
void check_range(std::string_view layer, const char* option, const RandomRange& range, double least) {
  require(least <= range.lower && range.lower <= range.upper && range.upper <= 1,
          "{} needs a {} from {} to 1, got [{}, {}]", layer, option, least, range.lower, range.upper);
}

template <class Options>
void check_sampling(std::string_view layer, const Options& options) {
  require(options.interpolation == Interpolation::nearest || options.interpolation == Interpolation::bilinear,
          "{} takes the interpolations nearest and bilinear", layer);
  require(is_finite_f32(options.fill_value), "{} needs a finite fill_value of f32, got {}", layer, options.fill_value);
}

/// Base of the layers. Draws random numbers in training only.
class RandomImageImpl : public LayerImpl {
 public:
  Shape output_shape(std::span<const Shape> inputs) const override { return only_image(class_name(), inputs); }
  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return call.mode == Mode::train ? changed(inputs[0]) : inputs[0];
  }
  RandomDraws* random_draws() override { return &draws_; }

 protected:
  explicit RandomImageImpl(std::string name)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = true, .may_return_input = true}) {}

  /// The result in training.
  virtual Tensor changed(const Tensor& x) = 0;
  std::function<RandomKey()> keys() {
    return [this] { return draws_.next(); };
  }
  /// A number for each image, (n, 1).
  Tensor numbers_for(const Tensor& x, const RandomRange& range) {
    return uniform({x.dim(0), 1}, range.lower, range.upper, keys());
  }

 private:
  void make_weights(std::span<const Shape>, const LayerSeed& seed) override { draws_.start(seed.key(0)); }

  RandomDraws draws_;
};

class RandomFlipImpl final : public LayerOf<RandomFlipOptions, RandomImageImpl> {
 public:
  explicit RandomFlipImpl(const RandomFlipOptions& options) : LayerOf("RandomFlip", options) {}

 private:
  Tensor changed(const Tensor& x) override {
    std::vector<int> axes;
    if (options_.mode != FlipMode::horizontal) axes.push_back(1);
    if (options_.mode != FlipMode::vertical) axes.push_back(2);
    const Tensor flipped = less(reshape(numbers_for(x, {0, 1}), {x.dim(0), 1, 1, 1}), 0.5);
    return where(flipped, flip(x, axes), x);
  }
};

/// Images whose pixel (x, y) is the input at (a0 x + a1 y + a2, b0 x + b1 y + b2). `numbers`: a0, a1, a2, b0, b1, b2
/// for each image, (n, 1).
template <class Options>
Tensor sampled(const Tensor& x, const std::array<Tensor, 6>& numbers, const Options& options) {
  std::vector<Tensor> columns(numbers.begin(), numbers.end());
  columns.push_back(Tensor::zeros({x.dim(0), 2}));
  return affine_transform(
      x, concatenate(columns, 1),
      {.interpolation = options.interpolation, .fill_mode = options.fill_mode, .fill_value = options.fill_value});
}

class RandomTranslationImpl final : public LayerOf<RandomTranslationOptions, RandomImageImpl> {
 public:
  explicit RandomTranslationImpl(const RandomTranslationOptions& options) : LayerOf("RandomTranslation", options) {
    check_range(class_name(), "height_factor", options.height_factor, -1);
    check_range(class_name(), "width_factor", options.width_factor, -1);
    check_sampling(class_name(), options);
  }

 private:
  Tensor changed(const Tensor& x) override {
    const Tensor down = numbers_for(x, options_.height_factor) * static_cast<double>(x.dim(1));
    const Tensor right = numbers_for(x, options_.width_factor) * static_cast<double>(x.dim(2));
    const Tensor zero = zeros_like(down);
    const Tensor one = ones_like(down);
    return sampled(x, {one, zero, -right, zero, one, -down}, options_);
  }
};

class RandomZoomImpl final : public LayerOf<RandomZoomOptions, RandomImageImpl> {
 public:
  explicit RandomZoomImpl(const RandomZoomOptions& options) : LayerOf("RandomZoom", options) {
    constexpr double least = -0.999999;  // -1 would show a single row
    check_range(class_name(), "height_factor", options.height_factor, least);
    if (options.width_factor) check_range(class_name(), "width_factor", *options.width_factor, least);
    check_sampling(class_name(), options);
  }

 private:
  Tensor changed(const Tensor& x) override {
    const auto zoom = [&](const RandomRange& range) { return numbers_for(x, {1 + range.lower, 1 + range.upper}); };
    const Tensor rows = zoom(options_.height_factor);
    const Tensor columns = options_.width_factor ? zoom(*options_.width_factor) : rows;
    const auto offset = [](const Tensor& zoom, std::int64_t size) {
      return (1 - zoom) * (static_cast<double>(size - 1) / 2);
    };
    const Tensor zero = zeros_like(rows);
    return sampled(x, {columns, zero, offset(columns, x.dim(2)), zero, rows, offset(rows, x.dim(1))}, options_);
  }
};

class RandomRotationImpl final : public LayerOf<RandomRotationOptions, RandomImageImpl> {
 public:
  explicit RandomRotationImpl(const RandomRotationOptions& options) : LayerOf("RandomRotation", options) {
    check_range(class_name(), "factor", options.factor, -1);
    check_sampling(class_name(), options);
  }

 private:
  Tensor changed(const Tensor& x) override {
    const Tensor angle = numbers_for(x, options_.factor) * (2 * std::numbers::pi);
    const Tensor sine = sin(angle);
    const Tensor cosine = cos(angle);
    const double center_x = static_cast<double>(x.dim(2) - 1) / 2;
    const double center_y = static_cast<double>(x.dim(1) - 1) / 2;
    return sampled(x,
                   {cosine, -sine, (1 - cosine) * center_x + sine * center_y, sine, cosine,
                    (1 - cosine) * center_y - sine * center_x},
                   options_);
  }
};

class RandomCropImpl final : public LayerOf<RandomCropLayerOptions, RandomImageImpl> {
 public:
  explicit RandomCropImpl(const RandomCropLayerOptions& options) : LayerOf("RandomCrop", options) {
    require(options.height >= 1 && options.width >= 1,
            "RandomCrop needs a height and a width of at least 1, got {} x {}", options.height, options.width);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name(), inputs);
    require(image[0] >= 1 && image[1] >= 1, "RandomCrop takes images with pixels, got {}", image);
    return {options_.height, options_.width, image[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor& x = inputs[0];
    const bool fits = x.dim(1) > options_.height && x.dim(2) > options_.width;
    if (call.mode == Mode::train && fits) return changed(x);
    return resize(x, {options_.height, options_.width}, {.crop_to_aspect_ratio = true});
  }

 private:
  Tensor changed(const Tensor& x) override { return cropped(cropped(x, 1, options_.height), 2, options_.width); }

  /// `size` adjacent elements along the axis, from a random element on.
  Tensor cropped(const Tensor& x, int axis, std::int64_t size) {
    const Tensor begin = randint({1}, 0, x.dim(axis) - size + 1, keys(), DType::i64);
    return take(x, begin + arange(static_cast<double>(size), DType::i64), axis);
  }
};

/// Base of the layers that change colors.
class RandomColorImpl : public LayerOf<RandomColorOptions, RandomImageImpl> {
 protected:
  RandomColorImpl(const char* class_name, const RandomColorOptions& options) : LayerOf(class_name, options) {
    check_range(class_name, "factor", options.factor, -1);
    const RandomRange& values = options.value_range;
    require(std::isfinite(values.lower) && std::isfinite(values.upper) && values.lower <= values.upper,
            "{} needs a finite value_range, got [{}, {}]", class_name, values.lower, values.upper);
  }

  Tensor clipped(const Tensor& x) const { return clip(x, options_.value_range.lower, options_.value_range.upper); }
  /// A number for each image, (n, 1, 1, 1), of the images' dtype.
  Tensor factors_for(const Tensor& x, const RandomRange& range) {
    return cast(reshape(numbers_for(x, range), {x.dim(0), 1, 1, 1}), x.dtype());
  }
};

class RandomBrightnessImpl final : public RandomColorImpl {
 public:
  explicit RandomBrightnessImpl(const RandomColorOptions& options) : RandomColorImpl("RandomBrightness", options) {}

 private:
  Tensor changed(const Tensor& x) override {
    const double size = options_.value_range.upper - options_.value_range.lower;
    return clipped(x + factors_for(x, {options_.factor.lower * size, options_.factor.upper * size}));
  }
};

class RandomContrastImpl final : public RandomColorImpl {
 public:
  explicit RandomContrastImpl(const RandomColorOptions& options) : RandomColorImpl("RandomContrast", options) {
    require(options.factor.upper >= 0, "RandomContrast needs a factor whose upper bound is at least 0, got [{}, {}]",
            options.factor.lower, options.factor.upper);
  }

 private:
  Tensor changed(const Tensor& images) override {
    const Tensor x = cast(images, DType::f32);  // in bf16 the difference to the mean would be rounded
    const RandomRange& factor = options_.factor;
    const Tensor means = mean(x, {1, 2}, true);
    const Tensor y = (x - means) * factors_for(x, {1 - std::max(factor.lower, 0.0), 1 + factor.upper}) + means;
    return cast(clipped(y), images.dtype());
  }
};

}  // namespace

void RandomFlipOptions::describe(LayerConfig& config) {
  config.passed_over("seed");
  config.choice("mode", mode,
                {{"horizontal", FlipMode::horizontal},
                 {"vertical", FlipMode::vertical},
                 {"horizontal_and_vertical", FlipMode::horizontal_and_vertical}});
  config.channels_last();
}

void RandomTranslationOptions::describe(LayerConfig& config) {
  list_range(config, "height_factor", height_factor);
  list_range(config, "width_factor", width_factor);
  list_sampling(config, *this);
}

void RandomZoomOptions::describe(LayerConfig& config) {
  list_range(config, "height_factor", height_factor);
  list_range(config, "width_factor", width_factor);
  list_sampling(config, *this);
}

void RandomRotationOptions::describe(LayerConfig& config) {
  list_range(config, "factor", factor);
  list_sampling(config, *this);
}

void RandomCropLayerOptions::describe(LayerConfig& config) {
  config.option("height", height);
  config.option("width", width);
  config.passed_over("seed");
  config.channels_last();
}

void RandomColorOptions::describe(LayerConfig& config) {
  list_range(config, "factor", factor);
  list_range(config, "value_range", value_range);
  config.passed_over("seed");
  config.channels_last();
}

RandomFlip::RandomFlip(const RandomFlipOptions& options) : Layer(std::make_shared<RandomFlipImpl>(options)) {}

RandomTranslation::RandomTranslation(const RandomTranslationOptions& options)
    : Layer(std::make_shared<RandomTranslationImpl>(options)) {}

RandomZoom::RandomZoom(const RandomZoomOptions& options) : Layer(std::make_shared<RandomZoomImpl>(options)) {}

RandomRotation::RandomRotation(const RandomRotationOptions& options)
    : Layer(std::make_shared<RandomRotationImpl>(options)) {}

RandomCrop::RandomCrop(const RandomCropLayerOptions& options) : Layer(std::make_shared<RandomCropImpl>(options)) {}

RandomBrightness::RandomBrightness(const RandomColorOptions& options)
    : Layer(std::make_shared<RandomBrightnessImpl>(options)) {}

RandomContrast::RandomContrast(const RandomColorOptions& options)
    : Layer(std::make_shared<RandomContrastImpl>(options)) {}

}  // namespace lockstep
