#pragma once

#include <map>
#include <optional>
#include <string>

#include <lockstep/models/layers/application_layers.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/random_images.h>
#include <lockstep/models/training/model.h>

// The layers of random_interop.py, which change their input at random in training.

namespace lockstep {

/// A model of a single layer, for a case of random_interop.py; empty for other names.
inline std::optional<Model> random_layer_model(const std::string& name) {
  const std::map<std::string, Layer> layers{
      {"flip_horizontal", RandomFlip({.mode = FlipMode::horizontal})},
      {"flip_vertical", RandomFlip({.mode = FlipMode::vertical})},
      {"flip", RandomFlip()},
      {"crop", RandomCrop({.height = 5, .width = 4})},
      {"crop_center", RandomCrop({.height = 8, .width = 4})},
      {"translation", RandomTranslation({.height_factor = {0.2, 0.2}, .width_factor = {-0.3, -0.3}})},
      {"translation_nearest", RandomTranslation({.height_factor = {-0.3, -0.3},
                                                 .width_factor = {0.6, 0.6},
                                                 .fill_mode = FillMode::constant,
                                                 .interpolation = Interpolation::nearest,
                                                 .fill_value = 0.5})},
      {"zoom", RandomZoom({.height_factor = {0.3, 0.3}})},
      {"zoom_in",
       RandomZoom(
           {.height_factor = {-0.4, -0.4}, .width_factor = RandomRange(0.9, 0.9), .fill_mode = FillMode::nearest})},
      {"rotation", RandomRotation({.factor = {0.1, 0.1}})},
      {"rotation_nearest",
       RandomRotation(
           {.factor = {-0.37, -0.37}, .fill_mode = FillMode::wrap, .interpolation = Interpolation::nearest})},
      {"brightness", RandomBrightness({.factor = {0.3, 0.3}, .value_range = {-1, 1}})},
      {"contrast", RandomContrast({.factor = {0.5, 0.75}, .value_range = {-1, 1}})},
      {"dropout", Dropout({.rate = 0.3})},
      {"dropout_of_rows", Dropout({.rate = 0.3, .noise_shape = {-1, -1, 1, 1}})},
      {"alpha_dropout", AlphaDropout({.rate = 0.3})},
      {"spatial_dropout", SpatialDropout2D({.rate = 0.3})},
      {"stochastic_depth", StochasticDepth({.drop_path_rate = 0.3})},
      {"gaussian_noise", GaussianNoise({.stddev = 0.4})},
      {"gaussian_dropout", GaussianDropout({.rate = 0.3})},
  };
  const auto found = layers.find(name);
  if (found == layers.end()) return std::nullopt;
  const Symbol pictures = Input({8, 7, 3});
  return Model(pictures, found->second(pictures));
}

}  // namespace lockstep
