#include "lockstep/models/zoo/mobilenet.h"

#include <cstdint>
#include <string>

#include <fmt/core.h>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/zoo/image_model.h>

// Follows keras/src/applications/mobilenet.py layer by layer.

namespace lockstep::zoo {
namespace {

/// The normalization `name`_bn and the activation `name`_relu.
Symbol normalized_relu6(const Symbol& x, const std::string& name) {
  return ReLU({.max_value = 6, .name = name + "_relu"})(BatchNormalization({.name = name + "_bn"})(x));
}

/// A depthwise convolution and one of 1 x 1.
Symbol depthwise_block(const Symbol& x, int number, std::int64_t filters, std::int64_t strides) {
  const std::string depthwise = fmt::format("conv_dw_{}", number);
  const std::string pointwise = fmt::format("conv_pw_{}", number);
  const bool halves = strides == 2;
  Symbol y = halves ? ZeroPadding2D({.padding = {0, 1, 0, 1}, .name = fmt::format("conv_pad_{}", number)})(x) : x;
  y = DepthwiseConv2D({.kernel_size = 3,
                       .strides = strides,
                       .padding = halves ? Padding::valid : Padding::same,
                       .use_bias = false,
                       .name = depthwise})(y);
  y = Conv2D({.filters = filters, .kernel_size = 1, .padding = Padding::same, .use_bias = false, .name = pointwise})(
      normalized_relu6(y, depthwise));
  return normalized_relu6(y, pointwise);
}

Symbol mobilenet_top(const Symbol& x, const ImageModelOptions& options) {
  const Symbol y = Dropout({.rate = 1e-3, .name = "dropout"})(GlobalAveragePooling2D({.keepdims = true})(x));
  return with_dtype_policy(DTypePolicy::float32, [&] {
    const Symbol logits =
        Conv2D({.filters = options.classes, .kernel_size = 1, .padding = Padding::same, .name = "conv_preds"})(y);
    return ActivationLayer(options.classifier_activation,
                           "predictions")(Reshape({.target_shape = {options.classes}, .name = "reshape_2"})(logits));
  });
}

}  // namespace

Model mobilenet(const ImageModelOptions& options) {
  const Symbol images = detail::image_input("mobilenet", options, 224);
  Symbol x = Conv2D(
      {.filters = 32, .kernel_size = 3, .strides = 2, .padding = Padding::same, .use_bias = false, .name = "conv1"})(
      images);
  x = normalized_relu6(x, "conv1");
  std::int64_t filters = 64;
  for (int number = 1; number <= 13; ++number) {
    const bool halves = number == 2 || number == 4 || number == 6 || number == 12;
    if (halves) filters *= 2;
    x = depthwise_block(x, number, filters, halves ? 2 : 1);
  }
  x = options.include_top ? mobilenet_top(x, options) : detail::pooled_features(x, options, detail::PoolingNames::none);
  return detail::image_model(images, x, options, "mobilenet_1.00_" + detail::rows_in_name(images));
}

}  // namespace lockstep::zoo
