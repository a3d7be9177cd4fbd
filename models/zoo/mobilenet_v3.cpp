#include "lockstep/models/zoo/mobilenet_v3.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include <lockstep/models/graph/symbol_operations.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/preprocessing.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/zoo/image_model.h>

// Follows keras/src/applications/mobilenet_v3.py layer by layer. As there, activations and the layers of the squeeze
// and excitation's hard sigmoid have no explicit names but are numbered in the order of their creation.

namespace lockstep::zoo {
namespace {

enum class Nonlinearity : std::uint8_t { relu, hard_swish };

struct InvertedBlock {
  double expansion;  ///< factor of the channels inside the block
  std::int64_t filters;
  std::int64_t kernel_size;
  std::int64_t strides;
  bool excites;  ///< whether it has a squeeze and excitation
  Nonlinearity nonlinearity;
};

struct MobileNetV3 {
  std::string_view name;
  std::vector<InvertedBlock> blocks;
  std::int64_t last_filters;
};

Symbol nonlinear(const Symbol& x, Nonlinearity nonlinearity) {
  return nonlinearity == Nonlinearity::relu ? ReLU()(x) : ActivationLayer(Activation::hard_silu)(x);
}

/// A convolution of 1 x 1 and its normalization `name`_bn.
Symbol pointwise_conv(const Symbol& x, const std::string& name, std::int64_t filters) {
  const Symbol y =
      Conv2D({.filters = filters, .kernel_size = 1, .padding = Padding::same, .use_bias = false, .name = name})(x);
  return BatchNormalization({.momentum = 0.999, .name = name + "_bn"})(y);
}

/// Scales the channels by a function of their means, with Keras' operations for the hard sigmoid.
Symbol squeeze_and_excite(const Symbol& x, const std::string& name) {
  const std::int64_t channels = x.shape()[2];
  Symbol y = GlobalAveragePooling2D({.keepdims = true, .name = name + "avg_pool"})(x);
  y = Conv2D({.filters = detail::divisible_by_8(static_cast<double>(channels) / 4),
              .kernel_size = 1,
              .padding = Padding::same,
              .name = name + "conv"})(y);
  y = ReLU({.name = name + "relu"})(y);
  y = Conv2D({.filters = channels, .kernel_size = 1, .padding = Padding::same, .name = name + "conv_1"})(y);
  y = operation("Add", {y}, "{}", R"([{"tensor": 0}, 3.0])");
  y = operation("Multiply", {ReLU({.max_value = 6})(y)}, "{}", R"([{"tensor": 0}, 0.16666666666666666])");
  return Multiply(name + "mul")({x, y});
}

Symbol inverted_block(const Symbol& x, int number, const InvertedBlock& block) {
  const std::string name = number == 0 ? "expanded_conv_" : fmt::format("expanded_conv_{}_", number);
  const std::int64_t channels = x.shape()[2];
  Symbol y = x;
  if (number > 0) {
    const std::int64_t expanded = detail::divisible_by_8(static_cast<double>(channels) * block.expansion);
    y = nonlinear(pointwise_conv(y, name + "expand", expanded), block.nonlinearity);
  }
  if (block.strides == 2)
    y = ZeroPadding2D({.padding = detail::correct_pad(y, block.kernel_size), .name = name + "depthwise_pad"})(y);
  y = DepthwiseConv2D({.kernel_size = block.kernel_size,
                       .strides = block.strides,
                       .padding = block.strides == 1 ? Padding::same : Padding::valid,
                       .use_bias = false,
                       .name = name + "depthwise"})(y);
  y = nonlinear(BatchNormalization({.momentum = 0.999, .name = name + "depthwise_bn"})(y), block.nonlinearity);
  if (block.excites) y = squeeze_and_excite(y, name + "squeeze_excite_");
  y = pointwise_conv(y, name + "project", block.filters);
  return block.strides == 1 && channels == block.filters ? Add(name + "add")({x, y}) : y;
}

Symbol mobilenet_v3_top(const Symbol& x, std::int64_t filters, const ImageModelOptions& options) {
  Symbol y = GlobalAveragePooling2D({.keepdims = true})(x);
  y = Conv2D({.filters = filters, .kernel_size = 1, .padding = Padding::same, .name = "conv_2"})(y);
  y = Dropout({.rate = 0.2})(nonlinear(y, Nonlinearity::hard_swish));
  return with_dtype_policy(DTypePolicy::float32, [&] {
    const Symbol logits =
        Conv2D({.filters = options.classes, .kernel_size = 1, .padding = Padding::same, .name = "logits"})(y);
    return ActivationLayer(options.classifier_activation, "predictions")(Flatten()(logits));
  });
}

Model mobilenet_v3(const MobileNetV3& model, const ImageModelOptions& options) {
  const Symbol images = detail::image_input(model.name, options, detail::any_side);
  Symbol x = Rescaling({.scale = {1 / 127.5}, .offset = {-1}})(images);
  x = Conv2D(
      {.filters = 16, .kernel_size = 3, .strides = 2, .padding = Padding::same, .use_bias = false, .name = "conv"})(x);
  x = nonlinear(BatchNormalization({.momentum = 0.999, .name = "conv_bn"})(x), Nonlinearity::hard_swish);
  int number = 0;
  for (const InvertedBlock& block : model.blocks) x = inverted_block(x, number++, block);
  x = nonlinear(pointwise_conv(x, "conv_1", 6 * x.shape()[2]), Nonlinearity::hard_swish);
  x = options.include_top ? mobilenet_v3_top(x, model.last_filters, options)
                          : detail::pooled_features(x, options, detail::PoolingNames::named);
  return detail::image_model(images, x, options, model.name);
}

}  // namespace

Model mobilenet_v3_small(const ImageModelOptions& options) {
  using enum Nonlinearity;
  return mobilenet_v3({.name = "MobileNetV3Small",
                       .blocks = {{1, 16, 3, 2, true, relu},
                                  {72.0 / 16, 24, 3, 2, false, relu},
                                  {88.0 / 24, 24, 3, 1, false, relu},
                                  {4, 40, 5, 2, true, hard_swish},
                                  {6, 40, 5, 1, true, hard_swish},
                                  {6, 40, 5, 1, true, hard_swish},
                                  {3, 48, 5, 1, true, hard_swish},
                                  {3, 48, 5, 1, true, hard_swish},
                                  {6, 96, 5, 2, true, hard_swish},
                                  {6, 96, 5, 1, true, hard_swish},
                                  {6, 96, 5, 1, true, hard_swish}},
                       .last_filters = 1024},
                      options);
}

Model mobilenet_v3_large(const ImageModelOptions& options) {
  using enum Nonlinearity;
  return mobilenet_v3({.name = "MobileNetV3Large",
                       .blocks = {{1, 16, 3, 1, false, relu},
                                  {4, 24, 3, 2, false, relu},
                                  {3, 24, 3, 1, false, relu},
                                  {3, 40, 5, 2, true, relu},
                                  {3, 40, 5, 1, true, relu},
                                  {3, 40, 5, 1, true, relu},
                                  {6, 80, 3, 2, false, hard_swish},
                                  {2.5, 80, 3, 1, false, hard_swish},
                                  {2.3, 80, 3, 1, false, hard_swish},
                                  {2.3, 80, 3, 1, false, hard_swish},
                                  {6, 112, 3, 1, true, hard_swish},
                                  {6, 112, 3, 1, true, hard_swish},
                                  {6, 160, 5, 2, true, hard_swish},
                                  {6, 160, 5, 1, true, hard_swish},
                                  {6, 160, 5, 1, true, hard_swish}},
                       .last_filters = 1280},
                      options);
}

}  // namespace lockstep::zoo
