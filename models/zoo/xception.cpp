#include "lockstep/models/zoo/xception.h"

#include <string>

#include <fmt/core.h>

#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/zoo/image_model.h>

// Follows keras/src/applications/xception.py layer by layer. As there, the layers of the shortcuts have no explicit
// names but are numbered in the order of their creation: conv2d, conv2d_1, ...

namespace lockstep::zoo {
namespace {

using detail::relu;

/// A convolution of the first layers: 3 x 3, without padding, normalized, with ReLU.
Symbol conv(const Symbol& x, const std::string& name, std::int64_t filters, Size2d strides) {
  Symbol y =
      Conv2D({.filters = filters, .kernel_size = {3, 3}, .strides = strides, .use_bias = false, .name = name})(x);
  y = BatchNormalization({.name = name + "_bn"})(y);
  return relu(y, name + "_act");
}

Symbol separable_conv(const Symbol& x, const std::string& name, std::int64_t filters) {
  const Symbol y = SeparableConv2D(
      {.filters = filters, .kernel_size = {3, 3}, .padding = Padding::same, .use_bias = false, .name = name})(x);
  return BatchNormalization({.name = name + "_bn"})(y);
}

struct ReducingBlock {
  int number;
  std::int64_t first_filters;
  std::int64_t filters;  ///< channels of the output
  bool begins_with_relu = true;
};

/// Two separable convolutions and a pooling that halves the image, in parallel with a convolution that halves it.
Symbol reducing_block(const Symbol& x, const ReducingBlock& block) {
  const std::string name = fmt::format("block{}", block.number);
  Symbol residual = Conv2D({.filters = block.filters,
                            .kernel_size = {1, 1},
                            .strides = {2, 2},
                            .padding = Padding::same,
                            .use_bias = false})(x);
  residual = BatchNormalization()(residual);
  Symbol y = block.begins_with_relu ? relu(x, name + "_sepconv1_act") : x;
  y = separable_conv(y, name + "_sepconv1", block.first_filters);
  y = separable_conv(relu(y, name + "_sepconv2_act"), name + "_sepconv2", block.filters);
  y = MaxPooling2D({.pool_size = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same, .name = name + "_pool"})(y);
  return Add()({y, residual});
}

/// Three separable convolutions, in parallel with the identity.
Symbol middle_block(const Symbol& x, int number) {
  Symbol y = x;
  for (int layer = 1; layer <= 3; ++layer) {
    const std::string name = fmt::format("block{}_sepconv{}", number, layer);
    y = separable_conv(relu(y, name + "_act"), name, 728);
  }
  return Add()({y, x});
}

}  // namespace

Model xception(const ImageModelOptions& options) {
  const Symbol images = detail::image_input("xception", options, 299, 71);
  Symbol x = conv(images, "block1_conv1", 32, {2, 2});
  x = conv(x, "block1_conv2", 64, {1, 1});
  x = reducing_block(x, {.number = 2, .first_filters = 128, .filters = 128, .begins_with_relu = false});
  x = reducing_block(x, {.number = 3, .first_filters = 256, .filters = 256});
  x = reducing_block(x, {.number = 4, .first_filters = 728, .filters = 728});
  for (int number = 5; number <= 12; ++number) x = middle_block(x, number);
  x = reducing_block(x, {.number = 13, .first_filters = 728, .filters = 1024});
  x = relu(separable_conv(x, "block14_sepconv1", 1536), "block14_sepconv1_act");
  x = relu(separable_conv(x, "block14_sepconv2", 2048), "block14_sepconv2_act");
  x = detail::top_or_features(x, options, detail::PoolingNames::none);
  return detail::image_model(images, x, options, "xception");
}

}  // namespace lockstep::zoo
