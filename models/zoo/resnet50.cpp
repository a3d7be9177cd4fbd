#include "lockstep/models/zoo/resnet50.h"

#include <string>

#include <fmt/core.h>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/zoo/image_model.h>

// Follows keras/src/applications/resnet.py layer by layer.

namespace lockstep::zoo {
namespace {

using detail::relu;

/// The convolution `name`_conv and its normalization `name`_bn.
Symbol normalized_conv(const Symbol& x, const std::string& name, Conv2DOptions conv) {
  conv.name = name + "_conv";
  return BatchNormalization({.epsilon = 1.001e-5, .name = name + "_bn"})(Conv2D(conv)(x));
}

Symbol zero_padding(const Symbol& x, std::int64_t border, const std::string& name) {
  return ZeroPadding2D({.padding = {border, border, border, border}, .name = name})(x);
}

struct Stack {
  std::string name;
  std::int64_t filters;  ///< filters of the narrow convolutions; the stack's output has four times as many channels
  int blocks;
  Size2d strides;  ///< strides of the first block, which has a convolution as its shortcut
};

Symbol residual_block(const Symbol& x, const Stack& stack, int number) {
  const std::string name = fmt::format("{}_block{}", stack.name, number);
  const bool first = number == 1;
  const Size2d strides = first ? stack.strides : Size2d{1, 1};
  Symbol shortcut = x;
  if (first)
    shortcut =
        normalized_conv(x, name + "_0", {.filters = 4 * stack.filters, .kernel_size = {1, 1}, .strides = strides});
  Symbol y = normalized_conv(x, name + "_1", {.filters = stack.filters, .kernel_size = {1, 1}, .strides = strides});
  y = relu(y, name + "_1_relu");
  y = normalized_conv(y, name + "_2", {.filters = stack.filters, .kernel_size = {3, 3}, .padding = Padding::same});
  y = relu(y, name + "_2_relu");
  y = normalized_conv(y, name + "_3", {.filters = 4 * stack.filters, .kernel_size = {1, 1}});
  return relu(Add(name + "_add")({shortcut, y}), name + "_out");
}

}  // namespace

Model resnet50(const ResNet50Options& options) {
  const Shape& shape = options.input_shape;
  detail::check_images("ResNet-50", shape, 32);
  const Symbol images = Input(shape);
  Symbol x = zero_padding(images, 3, "conv1_pad");
  x = normalized_conv(x, "conv1", {.filters = 64, .kernel_size = {7, 7}, .strides = {2, 2}});
  x = relu(x, "conv1_relu");
  x = zero_padding(x, 1, "pool1_pad");
  x = MaxPooling2D({.pool_size = {3, 3}, .strides = Size2d{2, 2}, .name = "pool1_pool"})(x);
  for (const Stack& stack : {Stack{"conv2", 64, 3, {1, 1}}, Stack{"conv3", 128, 4, {2, 2}},
                             Stack{"conv4", 256, 6, {2, 2}}, Stack{"conv5", 512, 3, {2, 2}}})
    for (int number = 1; number <= stack.blocks; ++number) x = residual_block(x, stack, number);
  x = GlobalAveragePooling2D({.name = "avg_pool"})(x);
  const Dense predictions = with_dtype_policy(DTypePolicy::float32, [&] {
    return Dense({.units = options.classes, .activation = options.classifier_activation, .name = "predictions"});
  });
  return {images, predictions(x), {.name = "resnet50", .seed = options.seed}};
}

}  // namespace lockstep::zoo
