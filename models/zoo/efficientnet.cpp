#include "lockstep/models/zoo/efficientnet.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/preprocessing.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/zoo/image_model.h>

// Follows keras/src/applications/efficientnet.py and efficientnet_v2.py layer by layer.

namespace lockstep::zoo {
namespace {

/// Blocks of equal filters, before scaling; the first block has these strides.
struct MBConvStage {
  int blocks;
  std::int64_t filters;
  std::int64_t kernel_size;
  std::int64_t strides;
  std::int64_t expansion;  ///< factor of the channels inside a block
  bool fused = false;      ///< one convolution in place of an expanding and a depthwise one
};
using MBConvStages = std::vector<MBConvStage>;

struct EfficientNet {
  std::string_view name;
  int version;
  std::int64_t side;
  double dropout;
  double width = 1;  ///< factor of all filters
  double depth = 1;  ///< factor of the numbers of blocks
  std::int64_t stem_filters = 32;
  bool only_rescales = false;  ///< whether the first layers do not normalize the images' channels

  /// `filters` times width, rounded.
  std::int64_t scaled(std::int64_t filters) const {
    const double exact = static_cast<double>(filters) * width;
    return version == 1 ? detail::divisible_by_8(exact) : detail::multiple_of_8(exact);
  }
  int repeated(int blocks) const { return static_cast<int>(std::ceil(blocks * depth)); }
};

struct MBConv {
  std::string name;  ///< beginning of the names of its layers
  int version;
  std::int64_t filters;
  MBConvStage stage;
  std::int64_t strides;
  double drop_rate;  ///< probability with which an example skips the block in training
};

SeededInitializer efficient_initializer() {
  return variance_scaling({.scale = 2, .mode = FanMode::fan_out, .distribution = Distribution::truncated_normal});
}

Symbol efficient_normalization(const Symbol& x, int version, const std::string& name) {
  return BatchNormalization({.momentum = version == 1 ? 0.99 : 0.9, .name = name})(x);
}

/// The normalization `name`bn and the activation `name`activation.
Symbol normalized_swish(const Symbol& x, int version, const std::string& name) {
  return ActivationLayer(Activation::silu, name + "activation")(efficient_normalization(x, version, name + "bn"));
}

/// A convolution without bias.
Symbol unbiased_conv(const Symbol& x, const std::string& name, std::int64_t filters, std::int64_t kernel_size = 1,
                     std::int64_t strides = 1) {
  return Conv2D({.filters = filters,
                 .kernel_size = kernel_size,
                 .strides = strides,
                 .padding = Padding::same,
                 .use_bias = false,
                 .kernel_initializer = efficient_initializer(),
                 .name = name})(x);
}

/// Scales the channels by a function of their means.
Symbol excited(const Symbol& x, const std::string& name, std::int64_t hidden_channels) {
  const std::int64_t channels = x.shape()[2];
  const auto conv = [](const char* suffix, std::int64_t filters, Activation activation, const std::string& prefix) {
    return Conv2D({.filters = filters,
                   .kernel_size = 1,
                   .padding = Padding::same,
                   .activation = activation,
                   .kernel_initializer = efficient_initializer(),
                   .name = prefix + suffix});
  };
  Symbol scale = GlobalAveragePooling2D({.name = name + "se_squeeze"})(x);
  scale = Reshape({.target_shape = {1, 1, channels}, .name = name + "se_reshape"})(scale);
  scale = conv("se_reduce", hidden_channels, Activation::silu, name)(scale);
  scale = conv("se_expand", channels, Activation::sigmoid, name)(scale);
  return Multiply(name + "se_excite")({x, scale});
}

/// Version 1 pads the images of strided convolutions by a layer of its own.
Symbol depthwise(const Symbol& x, const MBConv& block) {
  const bool pads = block.version == 1 && block.strides == 2;
  const std::int64_t kernel_size = block.stage.kernel_size;
  const Symbol padded =
      pads ? ZeroPadding2D({.padding = detail::correct_pad(x, kernel_size), .name = block.name + "dwconv_pad"})(x) : x;
  return DepthwiseConv2D({.kernel_size = kernel_size,
                          .strides = block.strides,
                          .padding = pads ? Padding::valid : Padding::same,
                          .use_bias = false,
                          .depthwise_initializer = efficient_initializer(),
                          .name = block.name + (block.version == 1 ? "dwconv" : "dwconv2")})(padded);
}

/// The convolutions of a block up to its last normalization.
Symbol convolved(const Symbol& x, const MBConv& block) {
  const auto& [name, version, filters, stage, strides, drop_rate] = block;
  const std::int64_t channels = x.shape()[2];
  const bool expands = stage.expansion != 1;
  Symbol y = x;
  if (expands) {
    const std::int64_t kernel_size = stage.fused ? stage.kernel_size : 1;
    y = unbiased_conv(y, name + "expand_conv", channels * stage.expansion, kernel_size, stage.fused ? strides : 1);
    y = normalized_swish(y, version, name + "expand_");
  }
  if (!stage.fused) y = excited(normalized_swish(depthwise(y, block), version, name), name, channels / 4);
  if (stage.fused && !expands) {
    y = unbiased_conv(y, name + "project_conv", filters, stage.kernel_size, strides);
    return normalized_swish(y, version, name + "project_");
  }
  return efficient_normalization(unbiased_conv(y, name + "project_conv", filters), version, name + "project_bn");
}

Symbol mbconv(const Symbol& x, const MBConv& block) {
  Symbol y = convolved(x, block);
  if (block.strides != 1 || x.shape()[2] != block.filters) return y;
  if (block.drop_rate > 0)
    y = Dropout({.rate = block.drop_rate, .noise_shape = {-1, 1, 1, 1}, .name = block.name + "drop"})(y);
  return Add(block.name + "add")({y, x});
}

/// Normalizes images with values of 0 to 255.
Symbol normalized_images(const Symbol& images, const EfficientNet& model) {
  if (model.only_rescales || (model.version == 2 && images.shape()[2] != 3))
    return Rescaling({.scale = {1 / 128.0}, .offset = {-1}})(images);
  const Symbol x = Rescaling({.scale = {1 / 255.0}})(images);
  if (model.version == 1) return Normalization()(x);
  return Normalization({.mean = {0.485, 0.456, 0.406}, .variance = {0.229 * 0.229, 0.224 * 0.224, 0.225 * 0.225}})(x);
}

Symbol efficientnet_stem(const Symbol& images, const EfficientNet& model) {
  Symbol x = normalized_images(images, model);
  const bool pads = model.version == 1;
  if (pads) x = ZeroPadding2D({.padding = detail::correct_pad(x, 3), .name = "stem_conv_pad"})(x);
  x = Conv2D({.filters = model.scaled(model.stem_filters),
              .kernel_size = 3,
              .strides = 2,
              .padding = pads ? Padding::valid : Padding::same,
              .use_bias = false,
              .kernel_initializer = efficient_initializer(),
              .name = "stem_conv"})(x);
  return normalized_swish(x, model.version, "stem_");
}

Symbol efficientnet_top(const Symbol& x, const EfficientNet& model, const ImageModelOptions& options) {
  const Symbol features = Dropout({.rate = model.dropout, .name = "top_dropout"})(detail::average_pool(x));
  DenseOptions dense{.kernel_initializer = variance_scaling(
                         {.scale = 1.0 / 3, .mode = FanMode::fan_out, .distribution = Distribution::uniform})};
  if (model.version == 2) dense.bias_initializer = constant(0);
  return detail::predictions(features, options, dense);
}

Model efficientnet(const EfficientNet& model, const MBConvStages& stages, const ImageModelOptions& options) {
  int all_blocks = 0;  // version 2 does not scale them
  for (const MBConvStage& stage : stages)
    all_blocks += model.version == 1 ? model.repeated(stage.blocks) : stage.blocks;
  const Symbol images = detail::image_input(model.name, options, model.side);
  Symbol x = efficientnet_stem(images, model);
  int number = 0;
  int stage_number = 0;
  for (const MBConvStage& stage : stages) {
    ++stage_number;
    for (int block = 0; block < model.repeated(stage.blocks); ++block)
      x = mbconv(x, {.name = fmt::format("block{}{:c}_", stage_number, 'a' + block),
                     .version = model.version,
                     .filters = model.scaled(stage.filters),
                     .stage = stage,
                     .strides = block == 0 ? stage.strides : 1,
                     .drop_rate = 0.2 * number++ / all_blocks});
  }
  x = unbiased_conv(x, "top_conv", model.scaled(1280));
  x = normalized_swish(x, model.version, "top_");
  x = options.include_top ? efficientnet_top(x, model, options)
                          : detail::pooled_features(x, options, detail::PoolingNames::named);
  return detail::image_model(images, x, options, model.name);
}

Model efficientnet_b(const EfficientNet& model, const ImageModelOptions& options) {
  return efficientnet(model,
                      {{1, 16, 3, 1, 1},
                       {2, 24, 3, 2, 6},
                       {2, 40, 5, 2, 6},
                       {3, 80, 3, 2, 6},
                       {3, 112, 5, 1, 6},
                       {4, 192, 5, 2, 6},
                       {1, 320, 3, 1, 6}},
                      options);
}

Model efficientnet_v2b(const EfficientNet& model, const ImageModelOptions& options) {
  return efficientnet(model,
                      {{1, 16, 3, 1, 1, true},
                       {2, 32, 3, 2, 4, true},
                       {2, 48, 3, 2, 4, true},
                       {3, 96, 3, 2, 4},
                       {5, 112, 3, 1, 6},
                       {8, 192, 3, 2, 6}},
                      options);
}

}  // namespace

Model efficientnet_b0(const ImageModelOptions& options) {
  return efficientnet_b({"efficientnetb0", 1, 224, 0.2, 1, 1}, options);
}
Model efficientnet_b1(const ImageModelOptions& options) {
  return efficientnet_b({"efficientnetb1", 1, 240, 0.2, 1, 1.1}, options);
}
Model efficientnet_b2(const ImageModelOptions& options) {
  return efficientnet_b({"efficientnetb2", 1, 260, 0.3, 1.1, 1.2}, options);
}
Model efficientnet_b3(const ImageModelOptions& options) {
  return efficientnet_b({"efficientnetb3", 1, 300, 0.3, 1.2, 1.4}, options);
}
Model efficientnet_b4(const ImageModelOptions& options) {
  return efficientnet_b({"efficientnetb4", 1, 380, 0.4, 1.4, 1.8}, options);
}
Model efficientnet_b5(const ImageModelOptions& options) {
  return efficientnet_b({"efficientnetb5", 1, 456, 0.4, 1.6, 2.2}, options);
}
Model efficientnet_b6(const ImageModelOptions& options) {
  return efficientnet_b({"efficientnetb6", 1, 528, 0.5, 1.8, 2.6}, options);
}
Model efficientnet_b7(const ImageModelOptions& options) {
  return efficientnet_b({"efficientnetb7", 1, 600, 0.5, 2, 3.1}, options);
}

Model efficientnet_v2b0(const ImageModelOptions& options) {
  return efficientnet_v2b({"efficientnetv2-b0", 2, 224, 0.2, 1, 1}, options);
}
Model efficientnet_v2b1(const ImageModelOptions& options) {
  return efficientnet_v2b({"efficientnetv2-b1", 2, 240, 0.2, 1, 1.1}, options);
}
Model efficientnet_v2b2(const ImageModelOptions& options) {
  return efficientnet_v2b({"efficientnetv2-b2", 2, 260, 0.2, 1.1, 1.2}, options);
}
Model efficientnet_v2b3(const ImageModelOptions& options) {
  return efficientnet_v2b({"efficientnetv2-b3", 2, 300, 0.2, 1.2, 1.4}, options);
}
Model efficientnet_v2s(const ImageModelOptions& options) {
  return efficientnet({"efficientnetv2-s", 2, 384, 0.2, 1, 1, 24, true},
                      {{2, 24, 3, 1, 1, true},
                       {4, 48, 3, 2, 4, true},
                       {4, 64, 3, 2, 4, true},
                       {6, 128, 3, 2, 4},
                       {9, 160, 3, 1, 6},
                       {15, 256, 3, 2, 6}},
                      options);
}
Model efficientnet_v2m(const ImageModelOptions& options) {
  return efficientnet({"efficientnetv2-m", 2, 480, 0.2, 1, 1, 24, true},
                      {{3, 24, 3, 1, 1, true},
                       {5, 48, 3, 2, 4, true},
                       {5, 80, 3, 2, 4, true},
                       {7, 160, 3, 2, 4},
                       {14, 176, 3, 1, 6},
                       {18, 304, 3, 2, 6},
                       {5, 512, 3, 1, 6}},
                      options);
}
Model efficientnet_v2l(const ImageModelOptions& options) {
  return efficientnet({"efficientnetv2-l", 2, 480, 0.2, 1, 1, 32, true},
                      {{4, 32, 3, 1, 1, true},
                       {7, 64, 3, 2, 4, true},
                       {7, 96, 3, 2, 4, true},
                       {10, 192, 3, 2, 4},
                       {19, 224, 3, 1, 6},
                       {25, 384, 3, 2, 6},
                       {7, 640, 3, 1, 6}},
                      options);
}

}  // namespace lockstep::zoo
