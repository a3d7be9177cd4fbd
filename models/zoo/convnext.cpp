#include "lockstep/models/zoo/convnext.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/models/graph/symbol_operations.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/application_layers.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/preprocessing.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/models/zoo/image_model.h>

// Follows keras/src/applications/convnext.py layer by layer.

namespace lockstep::zoo {
namespace {

struct ConvNeXt {
  std::string name;
  std::array<int, 4> blocks;            ///< of each stage
  std::array<std::int64_t, 4> filters;  ///< of each stage
};

LayerNormalization convnext_normalization(const std::string& name = {}) {
  return LayerNormalization({.epsilon = 1e-6, .name = name});
}

/// Normalizes images with values of 0 to 255.
Symbol convnext_prestem(const Symbol& images, const std::string& name) {
  std::vector<double> mean;
  std::vector<double> variance;
  for (const double channel : {0.485, 0.456, 0.406}) mean.push_back(channel * 255);
  for (const double deviation : {0.229, 0.224, 0.225}) variance.push_back((deviation * 255) * (deviation * 255));
  return Normalization({.mean = mean, .variance = variance, .name = name + "_prestem_normalization"})(images);
}

/// The model inside the model that reduces the image before a stage.
Symbol downsampled(const Symbol& x, const std::string& name, int stage, std::int64_t filters, std::uint64_t seed) {
  // A seed for each of these models; otherwise, layers at the same place in them would draw the same numbers.
  const std::uint64_t own_seed = seed + static_cast<std::uint64_t>(stage + 1) * 0x9e3779b97f4a7c15U;
  if (stage == 0) {
    const Conv2D conv({.filters = filters, .kernel_size = 4, .strides = 4, .name = name + "_stem_conv"});
    return Sequential(x.shape(), {conv, convnext_normalization(name + "_stem_layernorm")},
                      {.name = name + "_stem", .seed = own_seed})(x);
  }
  const auto named = [&](const char* part) { return fmt::format("{}_downsampling_{}_{}", name, part, stage - 1); };
  const Conv2D conv({.filters = filters, .kernel_size = 2, .strides = 2, .name = named("conv")});
  return Sequential(x.shape(), {convnext_normalization(named("layernorm")), conv},
                    {.name = named("block"), .seed = own_seed})(x);
}

Symbol convnext_block(const Symbol& x, const std::string& name) {
  const std::int64_t channels = x.shape()[2];
  Symbol y = Conv2D({.filters = channels,
                     .kernel_size = 7,
                     .padding = Padding::same,
                     .groups = channels,
                     .name = name + "_depthwise_conv"})(x);
  y = convnext_normalization(name + "_layernorm")(y);
  y = Dense({.units = 4 * channels, .name = name + "_pointwise_conv_1"})(y);
  y = ActivationLayer(Activation::gelu, name + "_gelu")(y);
  y = Dense({.units = channels, .name = name + "_pointwise_conv_2"})(y);
  y = LayerScale({.projection_dim = channels, .name = name + "_layer_scale"})(y);
  y = ActivationLayer(Activation::linear, name + "_identity")(y);  // in place of Keras' StochasticDepth of rate 0
  return operation("Add", {x, y});
}

Symbol convnext_top(const Symbol& x, const std::string& name, const ImageModelOptions& options) {
  if (!options.include_top)
    return convnext_normalization()(detail::pooled_features(x, options, detail::PoolingNames::none));
  const Symbol features = GlobalAveragePooling2D({.name = name + "_head_gap"})(x);
  return detail::predictions(convnext_normalization(name + "_head_layernorm")(features), options,
                             {.name = name + "_head_dense"});
}

Model convnext(const ConvNeXt& model, const ImageModelOptions& options) {
  const std::string& name = options.name.empty() ? model.name : options.name;
  const Symbol images = detail::image_input(model.name, options, 224);
  Symbol x = images.shape()[2] == 3 ? convnext_prestem(images, name) : images;
  for (int stage = 0; stage < 4; ++stage) {
    const auto index = static_cast<std::size_t>(stage);
    x = downsampled(x, name, stage, model.filters[index], options.seed);
    for (int block = 0; block < model.blocks[index]; ++block)
      x = convnext_block(x, fmt::format("{}_stage_{}_block_{}", name, stage, block));
  }
  return detail::image_model(images, convnext_top(x, name, options), options, model.name);
}

}  // namespace

Model convnext_tiny(const ImageModelOptions& options) {
  return convnext({"convnext_tiny", {3, 3, 9, 3}, {96, 192, 384, 768}}, options);
}
Model convnext_small(const ImageModelOptions& options) {
  return convnext({"convnext_small", {3, 3, 27, 3}, {96, 192, 384, 768}}, options);
}
Model convnext_base(const ImageModelOptions& options) {
  return convnext({"convnext_base", {3, 3, 27, 3}, {128, 256, 512, 1024}}, options);
}
Model convnext_large(const ImageModelOptions& options) {
  return convnext({"convnext_large", {3, 3, 27, 3}, {192, 384, 768, 1536}}, options);
}
Model convnext_xlarge(const ImageModelOptions& options) {
  return convnext({"convnext_xlarge", {3, 3, 27, 3}, {256, 512, 1024, 2048}}, options);
}

}  // namespace lockstep::zoo
