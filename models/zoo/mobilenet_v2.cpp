#include "lockstep/models/zoo/mobilenet_v2.h"

#include <cstdint>
#include <string>

#include <fmt/core.h>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/zoo/image_model.h>

// Follows keras/src/applications/mobilenet_v2.py layer by layer.

namespace lockstep::zoo {
namespace {

Symbol slow_normalization(const Symbol& x, const std::string& name) {
  return BatchNormalization({.momentum = 0.999, .name = name})(x);
}

Symbol named_relu6(const Symbol& x, const std::string& name) { return ReLU({.max_value = 6, .name = name})(x); }

/// Blocks of equal filters; the first one has these strides.
struct BottleneckStage {
  std::int64_t filters;
  int blocks;
  std::int64_t strides;
};

/// Widens the image's channels sixfold except in block 0, convolves each and narrows them to `filters`.
Symbol bottleneck(const Symbol& x, int number, std::int64_t filters, std::int64_t strides) {
  const std::string name = number == 0 ? "expanded_conv_" : fmt::format("block_{}_", number);
  const std::int64_t channels = x.shape()[2];
  const Conv2DOptions pointwise{.kernel_size = 1, .padding = Padding::same, .use_bias = false};
  Symbol y = x;
  if (number > 0) {
    Conv2DOptions expand = pointwise;
    expand.filters = 6 * channels;
    expand.name = name + "expand";
    y = named_relu6(slow_normalization(Conv2D(expand)(y), name + "expand_BN"), name + "expand_relu");
  }
  if (strides == 2) y = ZeroPadding2D({.padding = detail::correct_pad(y, 3), .name = name + "pad"})(y);
  y = DepthwiseConv2D({.kernel_size = 3,
                       .strides = strides,
                       .padding = strides == 2 ? Padding::valid : Padding::same,
                       .use_bias = false,
                       .name = name + "depthwise"})(y);
  y = named_relu6(slow_normalization(y, name + "depthwise_BN"), name + "depthwise_relu");
  Conv2DOptions project = pointwise;
  project.filters = filters;
  project.name = name + "project";
  y = slow_normalization(Conv2D(project)(y), name + "project_BN");
  return strides == 1 && channels == filters ? Add(name + "add")({x, y}) : y;
}

}  // namespace

Model mobilenet_v2(const ImageModelOptions& options) {
  const Symbol images = detail::image_input("mobilenet_v2", options, 224);
  Symbol x = Conv2D(
      {.filters = 32, .kernel_size = 3, .strides = 2, .padding = Padding::same, .use_bias = false, .name = "Conv1"})(
      images);
  x = named_relu6(slow_normalization(x, "bn_Conv1"), "Conv1_relu");
  int number = 0;
  for (const auto& [filters, blocks, strides] :
       {BottleneckStage{16, 1, 1}, BottleneckStage{24, 2, 2}, BottleneckStage{32, 3, 2}, BottleneckStage{64, 4, 2},
        BottleneckStage{96, 3, 1}, BottleneckStage{160, 3, 2}, BottleneckStage{320, 1, 1}})
    for (int block = 0; block < blocks; ++block) x = bottleneck(x, number++, filters, block == 0 ? strides : 1);
  x = Conv2D({.filters = 1280, .kernel_size = 1, .use_bias = false, .name = "Conv_1"})(x);
  x = named_relu6(slow_normalization(x, "Conv_1_bn"), "out_relu");
  x = detail::top_or_features(x, options, detail::PoolingNames::none, detail::PoolingNames::none);
  return detail::image_model(images, x, options, "mobilenetv2_1.00_" + detail::rows_in_name(images));
}

}  // namespace lockstep::zoo
