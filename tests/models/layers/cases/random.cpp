#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/random_images.h>

#include "layer_case.h"

namespace lockstep::test {

std::vector<LayerCase> random_layer_cases() {
  const Shape image{3, 4, 4};
  const Shape large_image{8, 6, 3};
  return {
      {"Dropout", [] { return Dropout({.rate = 0.25}); }, {image}},
      {"Dropout at inference", [] { return Dropout({.rate = 0.25}); }, {image}, {.mode = Mode::inference}},
      {"Dropout with noise_shape",
       [] {
         return Dropout({.rate = 0.25, .noise_shape = {-1, 1, 1, -1}});
       },
       {image}},
      {"Dropout with sizes in its noise_shape",
       [] {
         return Dropout({.rate = 0.25, .noise_shape = {-1, 3, 1, 4}});
       },
       {image}},
      {"AlphaDropout", [] { return AlphaDropout({.rate = 0.25}); }, {image}},
      {"AlphaDropout with noise_shape",
       [] {
         return AlphaDropout({.rate = 0.25, .noise_shape = {-1, 1, 4, -1}});
       },
       {image}},
      {"SpatialDropout1D", [] { return SpatialDropout1D({.rate = 0.25}); }, {{9, 4}}},
      {"SpatialDropout2D", [] { return SpatialDropout2D({.rate = 0.5}); }, {image}},
      {"GaussianNoise", [] { return GaussianNoise({.stddev = 0.25}); }, {image}},
      {"GaussianDropout", [] { return GaussianDropout({.rate = 0.25}); }, {image}},
      {"StochasticDepth", [] { return StochasticDepth({.drop_path_rate = 0.25}); }, {image}},
      {"RandomFlip", [] { return RandomFlip(); }, {large_image}},
      {"RandomFlip vertical", [] { return RandomFlip({.mode = FlipMode::vertical}); }, {large_image}},
      {"RandomTranslation",
       [] { return RandomTranslation({.height_factor = 0.5, .width_factor = 0.5}); },
       {large_image}},
      {"RandomTranslation wrapped",
       [] {
         return RandomTranslation({.height_factor = {-0.25, 0.5},
                                   .width_factor = 0.25,
                                   .fill_mode = FillMode::wrap,
                                   .interpolation = Interpolation::nearest,
                                   .fill_value = 2});
       },
       {large_image}},
      {"RandomZoom", [] { return RandomZoom({.height_factor = 0.25}); }, {large_image}},
      {"RandomZoom of two factors",
       [] { return RandomZoom({.height_factor = 0.25, .width_factor = RandomRange(0, 0.5)}); },
       {large_image}},
      {"RandomRotation",
       [] { return RandomRotation({.factor = 0.25, .fill_mode = FillMode::constant}); },
       {large_image}},
      {"RandomCrop", [] { return RandomCrop({.height = 3, .width = 4}); }, {large_image}},
      {"RandomCrop at inference",
       [] { return RandomCrop({.height = 3, .width = 4}); },
       {large_image},
       {.mode = Mode::inference}},
      {"RandomBrightness",
       [] {
         return RandomBrightness({.factor = 0.25, .value_range = {-2, 2}});
       },
       {large_image}},
      {"RandomContrast",
       [] {
         return RandomContrast({.factor = {0.25, 0.5}, .value_range = {-4, 4}});
       },
       {large_image}},
  };
}

}  // namespace lockstep::test
