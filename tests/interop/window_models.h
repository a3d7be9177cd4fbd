#pragma once

#include <lockstep/models/layers/adaptive_pooling.h>
#include <lockstep/models/layers/conv1d.h>
#include <lockstep/models/layers/conv_transpose.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/training/model.h>

// The models of layers_interop.py that consist of layers with sliding windows.

namespace lockstep {

inline Model pools_model() {
  const Symbol sequence = Input({10, 4});
  const Symbol largest = MaxPooling1D({.pool_size = 3, .strides = 2, .padding = Padding::same})(sequence);
  const Symbol mean = AveragePooling1D({.pool_size = 2, .padding = Padding::same})(largest);
  const Symbol first = Flatten()(GlobalAveragePooling1D({.keepdims = true})(AveragePooling1D()(sequence)));
  const Symbol second = GlobalMaxPooling1D()(MaxPooling1D({.pool_size = 4, .strides = 1})(sequence));
  return {sequence, Dense({.units = 3})(Concatenate()({Flatten()(mean), first, second}))};
}

inline Model adaptive_pools_model() {
  const Symbol pictures = Input({11, 7, 4});
  const Symbol x = AdaptiveAveragePooling2D({.output_size = {4, 6}})(pictures);
  const Symbol largest = AdaptiveMaxPooling2D({.output_size = 3})(x);
  const Symbol sequence = Reshape({.target_shape = {24, 4}})(x);
  const Symbol mean = AdaptiveAveragePooling1D({.output_size = 7})(sequence);
  const Symbol same = AdaptiveMaxPooling1D({.output_size = 6})(sequence);
  const Symbol all = Concatenate()({Flatten()(largest), Flatten()(mean), Flatten()(same)});
  return {pictures, Dense({.units = 3})(all)};
}

inline Model transposes_model() {
  const Symbol pictures = Input({3, 4, 3});
  Symbol x =
      Conv2DTranspose({.filters = 4, .kernel_size = {3, 2}, .strides = {2, 3}, .padding = Padding::same})(pictures);
  x = Conv2DTranspose({.filters = 3, .kernel_size = 2, .strides = {3, 1}, .activation = Activation::tanh})(x);
  x = Conv2DTranspose({.filters = 2,
                       .kernel_size = {4, 3},
                       .strides = 2,
                       .padding = Padding::same,
                       .output_padding = Size2d{1, 0},
                       .use_bias = false})(x);
  x = Conv2DTranspose({.filters = 2, .kernel_size = 3, .padding = Padding::same, .dilation_rate = {2, 3}})(x);
  const Symbol sequence = Reshape({.target_shape = {-1, 50}})(x);
  Symbol y = Conv1DTranspose({.filters = 4, .kernel_size = 3, .strides = 2, .padding = Padding::same})(sequence);
  y = Conv1DTranspose({.filters = 2, .kernel_size = 2, .strides = 3, .output_padding = 1})(y);
  return {pictures, Dense({.units = 3})(Flatten()(y))};
}

inline Model channels_model() {
  const Symbol sequence = Input({12, 4});
  Symbol x = DepthwiseConv1D({.kernel_size = 3,
                              .strides = 2,
                              .padding = Padding::same,
                              .depth_multiplier = 2,
                              .activation = Activation::tanh})(sequence);
  x = SeparableConv1D({.filters = 5, .kernel_size = 2, .dilation_rate = 2, .depth_multiplier = 2})(x);
  x = SeparableConv1D({.filters = 3, .kernel_size = 2, .use_bias = false})(x);
  return {sequence, Dense({.units = 3})(Flatten()(x))};
}

}  // namespace lockstep
