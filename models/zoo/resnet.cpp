#include "lockstep/models/zoo/resnet.h"

#include <array>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/zoo/image_model.h>

// Follows keras/src/applications/resnet.py layer by layer.

namespace lockstep::zoo {
namespace {

using detail::relu;

struct ResNet {
  std::string_view name;
  std::array<int, 4> blocks;  ///< of each stack
  int version = 1;
};

Symbol resnet_normalization(const Symbol& x, const std::string& name) {
  return BatchNormalization({.epsilon = 1.001e-5, .name = name})(x);
}

/// The convolution `name`_conv and its normalization `name`_bn.
Symbol normalized_conv(const Symbol& x, const std::string& name, Conv2DOptions conv) {
  conv.name = name + "_conv";
  return resnet_normalization(Conv2D(conv)(x), name + "_bn");
}

Symbol zero_padding(const Symbol& x, std::int64_t border, const std::string& name) {
  return ZeroPadding2D({.padding = border, .name = name})(x);
}

struct ResidualBlock {
  std::string name;
  std::int64_t filters;  ///< filters of the narrow convolutions; the output has four times as many channels
  Size2d strides;
  bool projects;  ///< whether a convolution is the shortcut
};

Symbol residual_block(const Symbol& x, const ResidualBlock& block) {
  const auto& [name, filters, strides, projects] = block;
  const Conv2DOptions widening{.filters = 4 * filters, .kernel_size = 1, .strides = strides};
  const Symbol shortcut = projects ? normalized_conv(x, name + "_0", widening) : x;
  Symbol y = normalized_conv(x, name + "_1", {.filters = filters, .kernel_size = 1, .strides = strides});
  y = relu(y, name + "_1_relu");
  y = normalized_conv(y, name + "_2", {.filters = filters, .kernel_size = 3, .padding = Padding::same});
  y = relu(y, name + "_2_relu");
  y = normalized_conv(y, name + "_3", {.filters = 4 * filters, .kernel_size = 1});
  return relu(Add(name + "_add")({shortcut, y}), name + "_out");
}

/// Stack 0 to 3 of blocks; the first block has a convolution as its shortcut and, except in stack 0, halves the image.
Symbol residual_stack(const Symbol& x, int stack, int blocks) {
  Symbol y = x;
  for (int number = 1; number <= blocks; ++number)
    y = residual_block(y, {.name = fmt::format("conv{}_block{}", stack + 2, number),
                           .filters = 64 << stack,
                           .strides = number == 1 && stack > 0 ? 2 : 1,
                           .projects = number == 1});
  return y;
}

/// A block of version 2, which normalizes before its convolutions.
Symbol preactivated_block(const Symbol& x, const ResidualBlock& block) {
  const auto& [name, filters, strides, projects] = block;
  const Symbol active = relu(resnet_normalization(x, name + "_preact_bn"), name + "_preact_relu");
  Symbol shortcut = x;
  if (projects)
    shortcut = Conv2D({.filters = 4 * filters, .kernel_size = 1, .strides = strides, .name = name + "_0_conv"})(active);
  else if (strides.height > 1)
    shortcut = MaxPooling2D({.pool_size = 1, .strides = strides})(x);
  Symbol y = normalized_conv(active, name + "_1", {.filters = filters, .kernel_size = 1, .use_bias = false});
  y = zero_padding(relu(y, name + "_1_relu"), 1, name + "_2_pad");
  y = normalized_conv(y, name + "_2", {.filters = filters, .kernel_size = 3, .strides = strides, .use_bias = false});
  y = Conv2D({.filters = 4 * filters, .kernel_size = 1, .name = name + "_3_conv"})(relu(y, name + "_2_relu"));
  return Add(name + "_out")({shortcut, y});
}

/// Stack 0 to 3 of blocks of version 2; the first block has a convolution as its shortcut, the last one, except in
/// stack 3, halves the image.
Symbol preactivated_stack(const Symbol& x, int stack, int blocks) {
  Symbol y = x;
  for (int number = 1; number <= blocks; ++number)
    y = preactivated_block(y, {.name = fmt::format("conv{}_block{}", stack + 2, number),
                               .filters = 64 << stack,
                               .strides = number == blocks && stack < 3 ? 2 : 1,
                               .projects = number == 1});
  return y;
}

Model resnet(const ResNet& model, const ImageModelOptions& options) {
  const Symbol images = detail::image_input(model.name, options, 224);
  Symbol x = zero_padding(images, 3, "conv1_pad");
  const Conv2DOptions conv1{.filters = 64, .kernel_size = 7, .strides = 2, .name = "conv1_conv"};
  x = model.version == 1 ? relu(normalized_conv(x, "conv1", conv1), "conv1_relu") : Conv2D(conv1)(x);
  x = zero_padding(x, 1, "pool1_pad");
  x = MaxPooling2D({.pool_size = 3, .strides = 2, .name = "pool1_pool"})(x);
  for (int stack = 0; stack < 4; ++stack) {
    const int blocks = model.blocks[static_cast<std::size_t>(stack)];
    x = model.version == 1 ? residual_stack(x, stack, blocks) : preactivated_stack(x, stack, blocks);
  }
  if (model.version == 2) x = relu(resnet_normalization(x, "post_bn"), "post_relu");
  x = detail::top_or_features(x, options, detail::PoolingNames::named);
  return detail::image_model(images, x, options, model.name);
}

}  // namespace

Model resnet50(const ImageModelOptions& options) { return resnet({"resnet50", {3, 4, 6, 3}}, options); }
Model resnet101(const ImageModelOptions& options) { return resnet({"resnet101", {3, 4, 23, 3}}, options); }
Model resnet152(const ImageModelOptions& options) { return resnet({"resnet152", {3, 8, 36, 3}}, options); }

Model resnet50_v2(const ImageModelOptions& options) { return resnet({"resnet50v2", {3, 4, 6, 3}, 2}, options); }
Model resnet101_v2(const ImageModelOptions& options) { return resnet({"resnet101v2", {3, 4, 23, 3}, 2}, options); }
Model resnet152_v2(const ImageModelOptions& options) { return resnet({"resnet152v2", {3, 8, 36, 3}, 2}, options); }

}  // namespace lockstep::zoo
