#include <lockstep/models/layers/conv.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(Conv2D, HasKerasShapes) {
  const Conv2D same({.filters = 5, .kernel_size = {3, 3}, .strides = {2, 2}, .padding = Padding::same});
  EXPECT_EQ(shape_after(same, {{7, 8, 3}}), (Shape{4, 4, 5}));
  const Conv2D valid({.filters = 5, .kernel_size = {3, 2}});
  EXPECT_EQ(shape_after(valid, {{7, 8, 3}}), (Shape{5, 7, 5}));
}

// One number is used for both axes, as in Keras, where kernel_size has no default.
TEST(Conv2D, OneSizeIsThatOfBothAxes) {
  const Conv2D layer({.filters = 5, .kernel_size = {3}, .strides = {2}});
  EXPECT_EQ(shape_after(layer, {{7, 9, 3}}), (Shape{3, 4, 5}));
  EXPECT_THAT(weights_of(built(layer, {{7, 9, 4}})),
              testing::ElementsAre("layer/kernel (3, 3, 4, 5)", "layer/bias (5)"));
  EXPECT_EQ(shape_after(DepthwiseConv2D({.kernel_size = 3, .dilation_rate = 2}), {{7, 9, 3}}), (Shape{3, 5, 3}));
  EXPECT_EQ(shape_after(SeparableConv2D({.filters = 5, .kernel_size = 3}), {{7, 9, 3}}), (Shape{5, 7, 5}));
  EXPECT_ERROR(InvalidArgument, "Conv2D needs a kernel_size", Conv2D({.filters = 5}));
  EXPECT_ERROR(InvalidArgument, "DepthwiseConv2D needs a kernel_size", DepthwiseConv2D({}));
  EXPECT_ERROR(InvalidArgument, "SeparableConv2D needs a kernel_size", SeparableConv2D({.filters = 5}));
}

TEST(Conv2D, HasKerasWeights) {
  const Conv2D layer = built(Conv2D({.filters = 5, .kernel_size = {3, 2}}), {{7, 8, 4}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/kernel (3, 2, 4, 5)", "layer/bias (5)"));
  EXPECT_EQ(layer.impl().count_params(), 3 * 2 * 4 * 5 + 5);
}

TEST(Conv2D, ComputesTheOp) {
  const Conv2D layer =
      built(Conv2D({.filters = 5, .kernel_size = {3, 3}, .strides = {2, 2}, .padding = Padding::same}), {{7, 8, 4}});
  layer.impl().variables()[1].assign(random_tensor({5}, 1));
  const Tensor x = random_tensor({2, 7, 8, 4}, 2);
  expect_same_bits(call(layer, {x}),
                   conv2d(x, weight(layer, 0), weight(layer, 1), {.strides = {2, 2}, .padding = Padding::same}));
}

TEST(Conv2D, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "at least 1 filter", Conv2D({.filters = 0, .kernel_size = {3, 3}}));
  EXPECT_ERROR(InvalidArgument, "kernel_size", Conv2D({.filters = 1, .kernel_size = {3, 0}}));
  EXPECT_ERROR(InvalidArgument, "strides", Conv2D({.filters = 1, .kernel_size = {3, 3}, .strides = {0, 1}}));
  const Conv2D layer({.filters = 1, .kernel_size = {3, 3}});
  EXPECT_ERROR(InvalidArgument, "(height, width, channels), got (7)", shape_after(layer, {{7}}));
  EXPECT_ERROR(InvalidArgument, "does not fit", shape_after(layer, {{2, 7, 1}}));
  EXPECT_ERROR(InvalidArgument, "takes one input, got 2", shape_after(layer, {{7, 7, 1}, {7, 7, 1}}));
  built(layer, {{7, 7, 2}});
  EXPECT_ERROR(InvalidArgument, "built for 2 channels, got (7, 7, 3)", shape_after(layer, {{7, 7, 3}}));
}

TEST(Conv2D, TakesKerasOptions) {
  const Conv2D layer = built(Conv2D({.filters = 6,
                                     .kernel_size = {3, 3},
                                     .padding = Padding::same,
                                     .dilation_rate = {2, 2},
                                     .groups = 2,
                                     .activation = Activation::gelu,
                                     .use_bias = false,
                                     .kernel_initializer = he_normal}),
                             {{7, 8, 4}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/kernel (3, 3, 2, 6)"));
  const Tensor expected_kernel = Tensor::empty({3, 3, 2, 6});
  he_normal(LayerSeed{}.key(0))(expected_kernel);
  expect_same_bits(weight(layer, 0), expected_kernel);
  const Tensor x = random_tensor({2, 7, 8, 4}, 2);
  expect_same_bits(call(layer, {x}),
                   conv2d(x, weight(layer, 0), {},
                          {.padding = Padding::same, .dilation = {2, 2}, .groups = 2, .activation = Activation::gelu}));
  EXPECT_EQ(shape_after(layer, {{7, 8, 4}}), (Shape{7, 8, 6}));
  EXPECT_ERROR(InvalidArgument, "a number of filters divisible by its 2 groups, got 5",
               Conv2D({.filters = 5, .kernel_size = {3, 3}, .groups = 2}));
  EXPECT_ERROR(InvalidArgument, "a number of channels divisible by its 2 groups, got 3",
               shape_after(Conv2D({.filters = 4, .kernel_size = {3, 3}, .groups = 2}), {{7, 8, 3}}));
  EXPECT_ERROR(InvalidArgument, "strides or a dilation_rate above 1, not both",
               Conv2D({.filters = 4, .kernel_size = {3, 3}, .strides = {2, 2}, .dilation_rate = {2, 1}}));
  EXPECT_ERROR(InvalidArgument, "dilation_rate of at least 1",
               Conv2D({.filters = 4, .kernel_size = {3, 3}, .dilation_rate = {0, 1}}));
}

TEST(DepthwiseConv2D, HasKerasWeightsAndComputesTheOp) {
  const DepthwiseConv2D layer =
      built(DepthwiseConv2D({.kernel_size = {3, 2}, .padding = Padding::same, .depth_multiplier = 2}), {{7, 8, 4}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/kernel (3, 2, 4, 2)", "layer/bias (8)"));
  EXPECT_EQ(layer.impl().count_params(), 3 * 2 * 4 * 2 + 8);
  EXPECT_EQ(shape_after(layer, {{7, 8, 4}}), (Shape{7, 8, 8}));
  layer.impl().variables()[1].assign(random_tensor({8}, 1));
  const Tensor x = random_tensor({2, 7, 8, 4}, 2);
  expect_same_bits(call(layer, {x}),
                   depthwise_conv2d(x, weight(layer, 0), weight(layer, 1), {.padding = Padding::same}));
  EXPECT_ERROR(InvalidArgument, "DepthwiseConv2D needs at least 1 depth_multiplier",
               DepthwiseConv2D({.kernel_size = {3, 3}, .depth_multiplier = 0}));
  EXPECT_ERROR(InvalidArgument, "built for 4 channels, got (7, 8, 5)", shape_after(layer, {{7, 8, 5}}));
}

TEST(SeparableConv2D, IsADepthwiseConvolutionAndOneOfSinglePixels) {
  const SeparableConv2D layer = built(SeparableConv2D({.filters = 5,
                                                       .kernel_size = {3, 3},
                                                       .strides = {2, 2},
                                                       .padding = Padding::same,
                                                       .depth_multiplier = 2,
                                                       .activation = Activation::relu}),
                                      {{7, 8, 4}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/depthwise_kernel (3, 3, 4, 2)",
                                                      "layer/pointwise_kernel (1, 1, 8, 5)", "layer/bias (5)"));
  EXPECT_EQ(layer.impl().count_params(), 3 * 3 * 4 * 2 + 8 * 5 + 5);
  EXPECT_EQ(shape_after(layer, {{7, 8, 4}}), (Shape{4, 4, 5}));
  layer.impl().variables()[2].assign(random_tensor({5}, 1));
  const Tensor x = random_tensor({2, 7, 8, 4}, 2);
  const Tensor by_channel = depthwise_conv2d(x, weight(layer, 0), {}, {.strides = {2, 2}, .padding = Padding::same});
  expect_same_bits(call(layer, {x}),
                   conv2d(by_channel, weight(layer, 1), weight(layer, 2), {.activation = Activation::relu}));
  const SeparableConv2D plain =
      built(SeparableConv2D({.filters = 5, .kernel_size = {3, 3}, .use_bias = false}), {{7, 8, 4}});
  EXPECT_EQ(plain.impl().variables().size(), 2U);
}

}  // namespace
}  // namespace lockstep::test
