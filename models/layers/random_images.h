#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

// Layers that change images at random in training: each image by numbers of its own, which depend on the model's seed,
// the layer, the replica, and the number of times this replica has called the layer in training. At inference they
// return their input, except RandomCrop. Their options have Keras' names and defaults; Keras' `seed` is not one of
// them, as the model has it.

namespace lockstep {

/// A range from which a number is drawn uniformly.
struct RandomRange {
  /// 0 alone.
  constexpr RandomRange() = default;
  /// From -both to both, as Keras reads a single number.
  constexpr RandomRange(double both)  // NOLINT: implicit
      : lower(both < 0 ? both : -both), upper(both < 0 ? -both : both) {}
  /// From `lower` to `upper`.
  constexpr RandomRange(double lower, double upper) : lower(lower), upper(upper) {}

  double lower = 0;  ///< at most `upper`
  double upper = 0;  ///< is not drawn, except by rounding
};

/// Which of its axes RandomFlip reverses.
enum class FlipMode { horizontal, vertical, horizontal_and_vertical };

/// RandomFlip's options.
struct RandomFlipOptions {
  FlipMode mode = FlipMode::horizontal_and_vertical;  ///< which axes
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
};

/// Reverses the columns, the rows or, as in Keras together, both of an image with probability 1/2.
struct RandomFlip : Layer {
  /// Takes images (height, width, channels).
  explicit RandomFlip(const RandomFlipOptions& options = {});
  /// Lets `RandomFlip({})` mean the defaults.
  explicit RandomFlip(Defaults) : RandomFlip() {}
  /// Makes the layer from the options in a file.
  static RandomFlip from_config(LayerConfig& config);
};

/// RandomTranslation's options.
struct RandomTranslationOptions {
  ///@{
  /// Keras' arguments of these names, with Keras' defaults.
  RandomRange height_factor{};  ///< shift down, as a share of the height; in [-1, 1]; required
  RandomRange width_factor{};   ///< shift to the right, as a share of the width; in [-1, 1]; required
  FillMode fill_mode = FillMode::reflect;
  Interpolation interpolation = Interpolation::bilinear;  ///< nearest or bilinear
  double fill_value = 0;
  std::string name{};
  ///@}
};

/// Shifts images.
struct RandomTranslation : Layer {
  /// Throws InvalidArgument for a value out of its range.
  explicit RandomTranslation(const RandomTranslationOptions& options);
  /// Makes the layer from the options in a file.
  static RandomTranslation from_config(LayerConfig& config);
};

/// RandomZoom's options.
struct RandomZoomOptions {
  ///@{
  /// Keras' arguments of these names, with Keras' defaults.
  RandomRange height_factor{};  ///< in (-1, 1]: 0.2 shows 1.2 times the height, -0.2 shows 0.8 of it; required
  std::optional<RandomRange> width_factor{};  ///< as height_factor; empty: the height's number, which keeps the ratio
  FillMode fill_mode = FillMode::reflect;
  Interpolation interpolation = Interpolation::bilinear;  ///< nearest or bilinear
  double fill_value = 0;
  std::string name{};
  ///@}
};

/// Scales images around their center.
struct RandomZoom : Layer {
  /// Throws InvalidArgument for a value out of its range.
  explicit RandomZoom(const RandomZoomOptions& options);
  /// Makes the layer from the options in a file.
  static RandomZoom from_config(LayerConfig& config);
};

/// RandomRotation's options.
struct RandomRotationOptions {
  ///@{
  /// Keras' arguments of these names, with Keras' defaults.
  RandomRange factor{};  ///< angle as a share of a whole turn, counter-clockwise; in [-1, 1]; required
  FillMode fill_mode = FillMode::reflect;
  Interpolation interpolation = Interpolation::bilinear;  ///< nearest or bilinear
  double fill_value = 0;
  std::string name{};
  ///@}
};

/// Rotates images around their center.
struct RandomRotation : Layer {
  /// Throws InvalidArgument for a value out of its range.
  explicit RandomRotation(const RandomRotationOptions& options);
  /// Makes the layer from the options in a file.
  static RandomRotation from_config(LayerConfig& config);
};

/// The layer RandomCrop's options. (RandomCropOptions are those of the transform `random_crop`.)
struct RandomCropLayerOptions {
  std::int64_t height = 0;  ///< required
  std::int64_t width = 0;   ///< required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
};

/// Crops images: (h, w, c) -> (height, width, c), all images of a replica's batch at one random place, as in Keras. At
/// inference, and if an axis is not larger than the result's, returns the largest part in the middle that has the
/// result's ratio, resized, as Keras' documentation says. (Keras 3.15 itself does not crop at inference.)
struct RandomCrop : Layer {
  /// Throws InvalidArgument for sizes below 1.
  explicit RandomCrop(const RandomCropLayerOptions& options);
  /// Makes the layer from the options in a file.
  static RandomCrop from_config(LayerConfig& config);
};

/// RandomBrightness' and RandomContrast's options.
struct RandomColorOptions {
  ///@{
  /// Keras' arguments of these names, with Keras' defaults.
  RandomRange factor{};  ///< in [-1, 1], for RandomContrast the part that is not negative; required
  RandomRange value_range{0, 255};
  std::string name{};
  ///@}
};

/// Adds a number of `factor` times the size of value_range to an image, and clips it to value_range.
struct RandomBrightness : Layer {
  /// Throws InvalidArgument for a value out of its range.
  explicit RandomBrightness(const RandomColorOptions& options);
  /// Makes the layer from the options in a file.
  static RandomBrightness from_config(LayerConfig& config);
};

/// Multiplies the difference of an image to the means of its channels by a number from 1 - factor.lower to 1 +
/// factor.upper, and clips the image to value_range. As in Keras, a single number gives a lower of 0.
struct RandomContrast : Layer {
  /// Throws InvalidArgument for a value out of its range.
  explicit RandomContrast(const RandomColorOptions& options);
  /// Makes the layer from the options in a file.
  static RandomContrast from_config(LayerConfig& config);
};

}  // namespace lockstep
