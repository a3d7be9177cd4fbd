#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

// Layers that change images at random in training. Each image has its own random numbers, except in RandomCrop. The
// numbers depend on the model's seed, the layer, the replica, and the number of times this replica has called the layer
// in training. At inference all layers but RandomCrop return their input. Their options have Keras' names and defaults,
// but no `seed`, because the model's seed is used.

namespace lockstep {

/// A range from which a number is drawn uniformly.
struct RandomRange {
  /// The range that contains only 0.
  constexpr RandomRange() = default;
  /// The range from -both to both, Keras' meaning of a single number.
  constexpr RandomRange(double both)  // NOLINT: implicit
      : lower(both < 0 ? both : -both), upper(both < 0 ? -both : both) {}
  /// The range from `lower` to `upper`.
  constexpr RandomRange(double lower, double upper) : lower(lower), upper(upper) {}

  double lower = 0;  ///< at most `upper`
  double upper = 0;  ///< excluded, but rounding can produce it
};

/// The axes of an image that RandomFlip reverses.
enum class FlipMode { horizontal, vertical, horizontal_and_vertical };

/// RandomFlip's options.
struct RandomFlipOptions {
  FlipMode mode = FlipMode::horizontal_and_vertical;  ///< the axes to reverse
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// With probability 1/2, reverses an image along the axes of `mode`. As in Keras, horizontal_and_vertical reverses both
/// axes together or none.
struct RandomFlip : Layer {
  /// Takes images (height, width, channels).
  explicit RandomFlip(const RandomFlipOptions& options = {});
  /// Makes `RandomFlip({})` use the default options.
  explicit RandomFlip(Defaults) : RandomFlip() {}
};

/// RandomTranslation's options.
struct RandomTranslationOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  RandomRange height_factor{};  ///< shift down, as a share of the height; in [-1, 1]; required in Keras
  RandomRange width_factor{};   ///< shift to the right, as a share of the width; in [-1, 1]; required in Keras
  FillMode fill_mode = FillMode::reflect;
  Interpolation interpolation = Interpolation::bilinear;  ///< nearest or bilinear
  double fill_value = 0;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Shifts images; `fill_mode` determines the elements outside the input.
struct RandomTranslation : Layer {
  /// Throws InvalidArgument for a value out of its range.
  explicit RandomTranslation(const RandomTranslationOptions& options);
};

/// RandomZoom's options.
struct RandomZoomOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  RandomRange height_factor{};  ///< in (-1, 1]: 0.2 shows 1.2 times the height, -0.2 shows 0.8 of it; required in Keras
  std::optional<RandomRange> width_factor{};  ///< if empty, the height's number is used, which keeps the aspect ratio
  FillMode fill_mode = FillMode::reflect;
  Interpolation interpolation = Interpolation::bilinear;  ///< nearest or bilinear
  double fill_value = 0;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Scales images around their center.
struct RandomZoom : Layer {
  /// Throws InvalidArgument for a value out of its range.
  explicit RandomZoom(const RandomZoomOptions& options);
};

/// RandomRotation's options.
struct RandomRotationOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  RandomRange factor{};  ///< angle as a share of a whole turn, counter-clockwise; in [-1, 1]; required in Keras
  FillMode fill_mode = FillMode::reflect;
  Interpolation interpolation = Interpolation::bilinear;  ///< nearest or bilinear
  double fill_value = 0;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Rotates images around their center.
struct RandomRotation : Layer {
  /// Throws InvalidArgument for a value out of its range.
  explicit RandomRotation(const RandomRotationOptions& options);
};

/// The layer RandomCrop's options. (RandomCropOptions belong to the transform `random_crop`.)
struct RandomCropLayerOptions {
  std::int64_t height = 0;  ///< required
  std::int64_t width = 0;   ///< required
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Crops images: (h, w, c) -> (height, width, c). As in Keras, all images of a replica's batch are cropped at the same
/// random position. At inference, and for images that are at most as high or at most as wide as the result, returns the
/// largest centered part with the result's aspect ratio, resized to the result's size, as Keras' documentation says.
/// (Keras 3.15 itself does not crop at inference.)
struct RandomCrop : Layer {
  /// Throws InvalidArgument for sizes below 1. A call throws it for empty images.
  explicit RandomCrop(const RandomCropLayerOptions& options);
};

/// RandomBrightness' and RandomContrast's options.
struct RandomColorOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  RandomRange factor{};  ///< in [-1, 1]; RandomContrast takes a negative lower bound as 0; required in Keras
  RandomRange value_range{0, 255};
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Adds d * (value_range.upper - value_range.lower) to an image, with d drawn from `factor`, and clips the image to
/// value_range.
struct RandomBrightness : Layer {
  /// Throws InvalidArgument for a value out of its range.
  explicit RandomBrightness(const RandomColorOptions& options);
};

/// Multiplies the difference between an image and the means of its channels by a number from 1 - factor.lower to 1 +
/// factor.upper, and clips the image to value_range. A negative factor.lower counts as 0, so that a single number means
/// [0, number], as in Keras.
struct RandomContrast : Layer {
  /// Throws InvalidArgument for a value out of its range, and for a negative factor.upper.
  explicit RandomContrast(const RandomColorOptions& options);
};

}  // namespace lockstep
