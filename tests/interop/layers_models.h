#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/conv1d.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dot.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/einsum_dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/preprocessing.h>
#include <lockstep/models/layers/repeat.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/training/sequential.h>

#include "image_models.h"
#include "masked_models.h"
#include "window_models.h"

// The models of layers_interop.py.

namespace lockstep {

inline Model images_model() {
  const Symbol pictures = Input({16, 15, 4});
  Symbol x = ZeroPadding2D({.padding = {1, 0, 2, 3}})(pictures);
  x = Conv2D(
      {.filters = 8, .kernel_size = {3, 3}, .dilation_rate = {2, 2}, .groups = 2, .activation = Activation::gelu})(x);
  x = DepthwiseConv2D(
      {.kernel_size = {3, 2}, .padding = Padding::same, .depth_multiplier = 2, .activation = Activation::elu})(x);
  SeparableConv2DOptions options{
      .filters = 6, .kernel_size = {3, 3}, .strides = {2, 2}, .padding = Padding::same, .use_bias = false};
  Symbol left = SeparableConv2D(options)(x);
  left = LeakyReLU()(BatchNormalization({.scale = false})(left));
  options.use_bias = true;
  options.depth_multiplier = 2;
  options.activation = Activation::silu;
  Symbol right = SeparableConv2D(options)(x);
  right = ReLU({.max_value = 0.75, .negative_slope = 0.125})(LayerNormalization({.center = false})(right));
  x = Add()({left, right});
  x = Concatenate({.axis = 1})({x, left});
  const Symbol mean = GlobalAveragePooling2D()(x);
  const Symbol largest = GlobalMaxPooling2D()(right);
  return {pictures, Dense({.units = 5})(ELU()(Concatenate()({mean, largest})))};
}

inline Model sequences_model() {
  const Symbol vector = Input({54});
  Symbol x = Reshape({.target_shape = {9, -1}})(vector);
  x = GRU({.units = 8, .return_sequences = true})(x);
  x = Dense({.units = 6, .activation = Activation::gelu})(LayerNormalization()(x));
  x = LSTM({.units = 7, .return_sequences = true})(x);
  x = Dense({.units = 5, .activation = Activation::softmax, .use_bias = false})(
      Reshape({.target_shape = {3, 3, 7}})(x));
  x = Reshape({.target_shape = {9, 5}})(Permute({.dims = {2, 3, 1}})(x));
  return {vector, Dense({.units = 4})(GRU({.units = 5})(x))};
}

inline Model all_activations_model() {
  const Symbol vector = Input({12});
  std::vector<Symbol> results;
  for (const Activation activation :
       {Activation::relu,        Activation::relu6,          Activation::leaky_relu,  Activation::elu,
        Activation::selu,        Activation::gelu,           Activation::sigmoid,     Activation::silu,
        Activation::softplus,    Activation::softsign,       Activation::tanh,        Activation::hard_sigmoid,
        Activation::hard_silu,   Activation::mish,           Activation::log_sigmoid, Activation::squareplus,
        Activation::sparse_plus, Activation::celu,           Activation::hard_tanh,   Activation::hard_shrink,
        Activation::soft_shrink, Activation::tanh_shrink,    Activation::exponential, Activation::softmax,
        Activation::log_softmax, Activation::sparse_sigmoid, Activation::gelu_tanh})
    results.push_back(ActivationLayer(activation)(Dense({.units = 3, .activation = activation})(vector)));
  results.push_back(Softmax()(Dense({.units = 3})(vector)));
  return {vector, Dense({.units = 6})(Concatenate()(results))};
}

inline Model merges_model() {
  const Symbol pictures = Input({5, 4, 6});
  const Symbol x = Conv2D({.filters = 6, .kernel_size = {1, 1}})(pictures);
  const Symbol y = BatchNormalization()(Conv2D({.filters = 6, .kernel_size = {1, 1}})(x));
  const Symbol channels = Dense({.units = 6, .activation = Activation::sigmoid})(GlobalAveragePooling2D()(x));
  const Symbol weighted = Multiply()({x, channels});  // squeeze and excitation
  const Symbol largest = Maximum()({weighted, y, x});
  const Symbol smallest = Minimum()({channels, largest, pictures});
  const Symbol sum = Add()({y, channels});
  const Symbol mean = Average()({Subtract()({sum, smallest}), weighted, channels});
  return {pictures, Dense({.units = 3})(Flatten()(mean))};
}

inline Model encodings_model() {
  const Symbol ids = Input({5}, "ids");
  const Symbol weights = Input({5}, "weights");
  const Symbol id = Input({1}, "id");
  const auto encoded = [](CategoryOutput mode, const std::vector<Symbol>& inputs) {
    return CategoryEncoding({.num_tokens = 9, .output_mode = mode})(inputs);
  };
  const Symbol all =
      Concatenate()({encoded(CategoryOutput::multi_hot, {ids}), Flatten()(encoded(CategoryOutput::one_hot, {ids})),
                     encoded(CategoryOutput::one_hot, {id}), encoded(CategoryOutput::count, {ids}),
                     encoded(CategoryOutput::count, {ids, weights})});
  return {{ids, weights, id}, Dense({.units = 3})(all)};
}

inline Model borders_model() {
  const Symbol sequence = Input({6, 5});
  const Symbol x = ZeroPadding1D({.padding = {1, 3}})(Cropping1D({.cropping = {2, 1}})(sequence));
  return {sequence, Dense({.units = 4})(Flatten()(x))};
}

inline Model preprocessing_model() {
  const Symbol pictures = Input({9, 8, 3});
  Symbol x = Normalization()(Rescaling({.scale = {0.5, 2, -1}, .offset = {0, 1, 0.25}})(pictures));
  x = Normalization({.mean = {0.5, 0.25, -1}, .variance = {4, 0.5, 1}})(Cropping2D({.cropping = {1, 0, 2, 1}})(x));
  x = Conv2D({.filters = 4, .kernel_size = {3, 3}})(Rescaling({.scale = {3}})(x));
  x = Dropout({.rate = 0.5, .noise_shape = {-1, 1, 1, -1}})(x);
  x = Normalization({.mean = {0.5}, .variance = {4}, .invert = true})(x);
  x = Normalization({.axis = {3, 1}})(Normalization({.axis = {}})(x));
  x = Normalization({.axis = {-3, -1}, .mean = {1, 2, 3, 4, 5, 6}, .variance = {2, 1, 2, 1, 2, 1}, .shape = {6, 1}})(x);
  x = Normalization({.axis = {1, 3}, .mean = {1, 2, 3, 4}, .variance = {1, 2, 3, 4}})(x);
  return {pictures, Dense({.units = 3})(Flatten()(x))};
}

inline Model products_model() {
  const Symbol sequence = Input({6, 8});
  const Symbol queries =
      EinsumDense({.equation = "abc,cde->abde", .output_shape = {6, 2, 3}, .bias_axes = "de"})(sequence);
  const Symbol keys = EinsumDense(
      {.equation = "abc,cde->adbe", .output_shape = {2, 6, 3}, .activation = Activation::tanh, .bias_axes = "e"})(
      sequence);
  const Symbol mixed = EinsumDense({.equation = "ab...,bc->ac...", .output_shape = {4}, .bias_axes = "c"})(queries);
  const Symbol last = EinsumDense({.equation = "...x,xy->...y", .output_shape = {3}})(keys);
  const Symbol scores =
      Dot({.axes = {2, 1}})({Reshape({.target_shape = {4, 6}})(mixed), Reshape({.target_shape = {6, 6}})(last)});
  const Symbol cosine = Dot({.normalize = true})({Flatten()(queries), Flatten()(keys)});
  const Symbol steps_of_any_number =
      LSTM({.units = 3})(EinsumDense({.equation = "abc,cd->abd", .output_shape = {-1, 4}})(sequence));
  return {sequence, Dense({.units = 3})(Concatenate()({Flatten()(scores), cosine, steps_of_any_number}))};
}

inline Model steps_model() {
  const Symbol sequence = Input({10, 4});
  Symbol x = Conv1D({.filters = 6,
                     .kernel_size = 3,
                     .padding = Padding1d::causal,
                     .dilation_rate = 2,
                     .activation = Activation::gelu})(sequence);
  x = Conv1D({.filters = 8, .kernel_size = 4, .strides = 2, .padding = Padding1d::same, .groups = 2})(x);
  x = Conv1D({.filters = 5, .kernel_size = 2, .use_bias = false})(UpSampling1D({.size = 3})(x));
  const Symbol last = LSTM({.units = 4})(Identity()(x));
  const Symbol repeated = RepeatVector({.n = 6})(last);
  const Symbol image = UpSampling2D({.size = {2, 3}})(Reshape({.target_shape = {3, 2, 4}})(repeated));
  return {sequence, Dense({.units = 3})(Flatten()(Conv2D({.filters = 2, .kernel_size = {3, 3}})(image)))};
}

inline Model activation_layers_model() {
  const Symbol sequence = Input({6, 4});
  const Symbol first = ReLU({.threshold = 0.25})(sequence);
  const Symbol second = ReLU({.max_value = 0.75, .negative_slope = 0.5, .threshold = 0.125})(sequence);
  const Symbol third = PReLU({.shared_axes = {1}})(PReLU({.alpha_initializer = ones})(sequence));
  const Symbol fourth = Softmax({.axis = {1}})(Dense({.units = 4})(sequence));
  const Symbol fifth = Dense({.units = 4, .activation = Activation::gelu_tanh})(sequence);
  return {sequence, Dense({.units = 3})(Flatten()(Concatenate()({first, second, third, fourth, fifth})))};
}

inline Model softmax_over_axes_model() {
  const Symbol pictures = Input({3, 4, 2});
  return {pictures, Dense({.units = 3})(Flatten()(Softmax({.axis = {1, 3}})(pictures)))};
}

inline Model normalizations_model() {
  const Symbol pictures = Input({5, 4, 6});
  Symbol x = BatchNormalization({.axis = 1})(LayerNormalization({.axis = {1, 3}})(pictures));
  x = LayerNormalization({.axis = {2}, .scale = false})(Conv2D({.filters = 6, .kernel_size = 1})(x));
  x = GroupNormalization({.groups = 3})(Conv2D({.filters = 6, .kernel_size = 1})(x));
  x = GroupNormalization({.groups = 2, .axis = 2, .center = false})(x);
  x = RMSNormalization({.axis = {2, 3}})(RMSNormalization()(Dense({.units = 6})(x)));
  const Symbol both = UnitNormalization({.axis = {1, 2}})(Dense({.units = 4})(x));
  return {pictures, Dense({.units = 3})(Flatten()(UnitNormalization()(Dense({.units = 3})(both))))};
}

inline Model dropouts_model() {
  const Symbol pictures = Input({6, 5, 4});
  const Symbol x = SpatialDropout2D({.rate = 0.25})(Conv2D({.filters = 3, .kernel_size = 2})(pictures));
  Symbol y = SpatialDropout1D({.rate = 0.5})(Reshape({.target_shape = {5, 12}})(x));
  y = GaussianDropout({.rate = 0.25})(GaussianNoise({.stddev = 0.5})(y));
  y = AlphaDropout({.rate = 0.5, .noise_shape = {-1, 1, 12}})(y);
  return {pictures, Dense({.units = 3})(Flatten()(y))};
}

/// The model of a case of layers_interop.py; empty for other names.
inline std::optional<Model> layers_model(const std::string& name) {
  if (name == "images") return images_model();
  if (name == "sequences") return sequences_model();
  if (name == "wrapped") return wrapped_model();
  if (name == "all_activations") return all_activations_model();
  if (name == "merges") return merges_model();
  if (name == "encodings") return encodings_model();
  if (name == "borders") return borders_model();
  if (name == "preprocessing") return preprocessing_model();
  if (name == "products") return products_model();
  if (name == "steps") return steps_model();
  if (name == "attention") return attention_model();
  if (name == "attention_options") return attention_options_model();
  if (name == "masked") return masked_model();
  if (name == "masked_merges") return masked_merges_model();
  if (name == "given_masks") return given_masks_model();
  if (name == "seq2seq") return seq2seq_model();
  if (name == "pools") return pools_model();
  if (name == "activation_layers") return activation_layers_model();
  if (name == "softmax_over_axes") return softmax_over_axes_model();
  if (name == "normalizations") return normalizations_model();
  if (name == "transposes") return transposes_model();
  if (name == "channels") return channels_model();
  if (name == "dropouts") return dropouts_model();
  if (name == "adaptive_pools") return adaptive_pools_model();
  if (name == "resized") return resized_model();
  if (name == "augmented") return augmented_model();
  return {};
}

}  // namespace lockstep
