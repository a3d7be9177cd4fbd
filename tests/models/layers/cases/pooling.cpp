#include <lockstep/models/layers/adaptive_pooling.h>
#include <lockstep/models/layers/pooling.h>

#include "layer_case.h"

namespace lockstep::test {

std::vector<LayerCase> pooling_layer_cases() {
  const Shape image{6, 5, 3};
  const Shape steps{9, 4};
  return {
      {"MaxPooling1D", [] { return MaxPooling1D({.pool_size = 3, .strides = 2, .padding = Padding::same}); }, {steps}},
      {"MaxPooling2D", [] { return MaxPooling2D(); }, {image}},
      {"MaxPooling2D with strides",
       [] {
         return MaxPooling2D({.pool_size = {3, 2}, .strides = Size2d{2, 1}, .padding = Padding::same});
       },
       {image}},
      {"AveragePooling1D", [] { return AveragePooling1D({.pool_size = 3}); }, {steps}},
      {"AveragePooling2D",
       [] {
         return AveragePooling2D({.pool_size = {3, 2}});
       },
       {image}},
      {"AveragePooling2D with strides",
       [] { return AveragePooling2D({.pool_size = 3, .strides = 2, .padding = Padding::same}); },
       {image}},
      {"GlobalMaxPooling1D", [] { return GlobalMaxPooling1D({.keepdims = true}); }, {steps}},
      {"GlobalMaxPooling2D", [] { return GlobalMaxPooling2D({.keepdims = true}); }, {image}},
      {"GlobalAveragePooling1D", [] { return GlobalAveragePooling1D({.keepdims = true}); }, {steps}},
      {"GlobalAveragePooling1D masked", [] { return GlobalAveragePooling1D(); }, {steps}, {.masked = true}},
      {"GlobalAveragePooling2D", [] { return GlobalAveragePooling2D({.keepdims = true}); }, {image}},
      {"AdaptiveMaxPooling1D", [] { return AdaptiveMaxPooling1D({.output_size = 4}); }, {steps}},
      {"AdaptiveMaxPooling2D",
       [] {
         return AdaptiveMaxPooling2D({.output_size = {4, 2}});
       },
       {image}},
      {"AdaptiveAveragePooling1D", [] { return AdaptiveAveragePooling1D({.output_size = 4}); }, {steps}},
      {"AdaptiveAveragePooling2D",
       [] {
         return AdaptiveAveragePooling2D({.output_size = {4, 2}});
       },
       {image}},
  };
}

}  // namespace lockstep::test
