#include "lockstep/models/zoo/densenet.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/zoo/image_model.h>

// Follows keras/src/applications/densenet.py layer by layer.

namespace lockstep::zoo {
namespace {

constexpr std::int64_t growth_rate = 32;  // channels that a layer of a dense block adds

/// The normalization `name`bn and the activation `name`relu.
Symbol normalized_relu(const Symbol& x, const std::string& name) {
  return detail::relu(BatchNormalization({.epsilon = 1.001e-5, .name = name + "bn"})(x), name + "relu");
}

Symbol dense_block(const Symbol& x, int number, int layers) {
  Symbol y = x;
  for (int layer = 1; layer <= layers; ++layer) {
    const std::string name = fmt::format("conv{}_block{}_", number, layer);
    Symbol added = Conv2D({.filters = 4 * growth_rate, .kernel_size = 1, .use_bias = false, .name = name + "1_conv"})(
        normalized_relu(y, name + "0_"));
    added = Conv2D({.filters = growth_rate,
                    .kernel_size = 3,
                    .padding = Padding::same,
                    .use_bias = false,
                    .name = name + "2_conv"})(normalized_relu(added, name + "1_"));
    y = Concatenate({.name = name + "concat"})({y, added});
  }
  return y;
}

/// Halves the channels and the image.
Symbol transition_block(const Symbol& x, const std::string& name) {
  const Symbol y = Conv2D({.filters = x.shape()[2] / 2, .kernel_size = 1, .use_bias = false, .name = name + "conv"})(
      normalized_relu(x, name));
  return AveragePooling2D({.strides = 2, .name = name + "pool"})(y);
}

/// `layers`: their number in each dense block.
Model densenet(std::string_view name, const std::array<int, 4>& layers, const ImageModelOptions& options) {
  const Symbol images = detail::image_input(name, options, 224);
  Symbol x = ZeroPadding2D({.padding = 3})(images);
  x = Conv2D({.filters = 64, .kernel_size = 7, .strides = 2, .use_bias = false, .name = "conv1_conv"})(x);
  x = ZeroPadding2D()(normalized_relu(x, "conv1_"));
  x = MaxPooling2D({.pool_size = 3, .strides = 2, .name = "pool1"})(x);
  for (int block = 0; block < 4; ++block) {
    if (block > 0) x = transition_block(x, fmt::format("pool{}_", block + 1));
    x = dense_block(x, block + 2, layers[static_cast<std::size_t>(block)]);
  }
  x = detail::top_or_features(normalized_relu(x, ""), options, detail::PoolingNames::named);
  return detail::image_model(images, x, options, name);
}

}  // namespace

Model densenet121(const ImageModelOptions& options) { return densenet("densenet121", {6, 12, 24, 16}, options); }
Model densenet169(const ImageModelOptions& options) { return densenet("densenet169", {6, 12, 32, 32}, options); }
Model densenet201(const ImageModelOptions& options) { return densenet("densenet201", {6, 12, 48, 32}, options); }

}  // namespace lockstep::zoo
