#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/models/layers/conv1d.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(Conv1D, HasKerasWeightsAndComputesTheOp) {
  const Conv1D layer = built(Conv1D({.filters = 6,
                                     .kernel_size = 3,
                                     .padding = Padding1d::causal,
                                     .dilation_rate = 2,
                                     .groups = 2,
                                     .activation = Activation::relu}),
                             {{9, 4}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/kernel (3, 2, 6)", "layer/bias (6)"));
  EXPECT_EQ(shape_after(layer, {{9, 4}}), (Shape{9, 6}));
  EXPECT_EQ(shape_after(layer, {{5, 4}}), (Shape{5, 6})) << "the number of steps may change";
  const Tensor x = random_tensor({2, 9, 4}, 1);
  const Conv1dOptions options{.padding = Padding1d::causal, .dilation = 2, .groups = 2};
  expect_same_bits(call(layer, {x}), relu(conv1d(x, weight(layer, 0), weight(layer, 1), options)));
}

TEST(Conv1D, GivesKerasNumberOfSteps) {
  const auto steps = [](std::int64_t stride, Padding1d padding) {
    return shape_after(Conv1D({.filters = 1, .kernel_size = 4, .strides = stride, .padding = padding}), {{9, 2}})[0];
  };
  EXPECT_EQ(steps(1, Padding1d::valid), 6);
  EXPECT_EQ(steps(2, Padding1d::valid), 3);
  EXPECT_EQ(steps(2, Padding1d::same), 5);
  EXPECT_EQ(steps(2, Padding1d::causal), 5);
}

TEST(Conv1D, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "Conv1D needs filters of at least 1, got 0", Conv1D({.kernel_size = 1}));
  EXPECT_ERROR(InvalidArgument, "Conv1D needs a kernel_size of at least 1, got 0", Conv1D({.filters = 1}));
  EXPECT_ERROR(InvalidArgument, "strides or a dilation_rate above 1, not both",
               Conv1D({.filters = 1, .kernel_size = 1, .strides = 2, .dilation_rate = 2}));
  EXPECT_ERROR(InvalidArgument, "Conv1D needs a number of filters divisible by its 2 groups, got 3",
               Conv1D({.filters = 3, .kernel_size = 1, .groups = 2}));
  const Conv1D layer({.filters = 2, .kernel_size = 3, .groups = 2});
  EXPECT_ERROR(InvalidArgument, "Conv1D takes sequences (steps, channels), got (4)", shape_after(layer, {{4}}));
  EXPECT_ERROR(InvalidArgument, "Conv1D needs a number of channels divisible by its 2 groups, got 3",
               shape_after(layer, {{4, 3}}));
  EXPECT_ERROR(InvalidArgument, "Conv1D: the window of 3 does not fit into the 2 steps", shape_after(layer, {{2, 4}}));
  built(layer, {{5, 4}});
  EXPECT_ERROR(InvalidArgument, "was built for 4 channels, got (5, 6)", shape_after(layer, {{5, 6}}));
}

TEST(DepthwiseConv1D, ConvolvesImagesOfOneRow) {
  const DepthwiseConv1D layer = built(DepthwiseConv1D({.kernel_size = 3,
                                                       .strides = 2,
                                                       .padding = Padding::same,
                                                       .depth_multiplier = 2,
                                                       .activation = Activation::relu}),
                                      {{9, 4}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/kernel (3, 4, 2)", "layer/bias (8)"));
  EXPECT_EQ(shape_after(layer, {{9, 4}}), (Shape{5, 8}));
  const Tensor x = random_tensor({2, 9, 4}, 1);
  const Tensor y = depthwise_conv2d(x.view({2, 1, 9, 4}), weight(layer, 0).view({1, 3, 4, 2}), weight(layer, 1),
                                    {.strides = {1, 2}, .padding = Padding::same});
  expect_same_bits(call(layer, {x}), relu(y).view({2, 5, 8}));
}

TEST(SeparableConv1D, ConvolvesChannelsAndThenSteps) {
  const SeparableConv1D layer =
      built(SeparableConv1D({.filters = 5, .kernel_size = 2, .dilation_rate = 3, .depth_multiplier = 2}), {{9, 4}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/depthwise_kernel (2, 4, 2)",
                                                      "layer/pointwise_kernel (1, 8, 5)", "layer/bias (5)"));
  EXPECT_EQ(shape_after(layer, {{9, 4}}), (Shape{6, 5}));
  const Tensor x = random_tensor({2, 9, 4}, 1);
  const Tensor by_channel =
      depthwise_conv2d(x.view({2, 1, 9, 4}), weight(layer, 0).view({1, 2, 4, 2}), {}, {.dilation = {1, 3}});
  const Tensor y = conv2d(by_channel, weight(layer, 1).view({1, 1, 8, 5}), weight(layer, 2));
  expect_same_bits(call(layer, {x}), y.view({2, 6, 5}));
}

TEST(SeparableConv1D, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "SeparableConv1D needs filters of at least 1, got 0",
               SeparableConv1D({.kernel_size = 1}));
  EXPECT_ERROR(InvalidArgument, "DepthwiseConv1D needs a kernel_size of at least 1, got 0", DepthwiseConv1D({}));
  EXPECT_ERROR(InvalidArgument, "DepthwiseConv1D needs a depth_multiplier of at least 1, got 0",
               DepthwiseConv1D({.kernel_size = 1, .depth_multiplier = 0}));
  EXPECT_ERROR(InvalidArgument, "DepthwiseConv1D takes strides or a dilation_rate above 1, not both",
               DepthwiseConv1D({.kernel_size = 1, .strides = 2, .dilation_rate = 2}));
  const DepthwiseConv1D layer({.kernel_size = 3});
  EXPECT_ERROR(InvalidArgument, "DepthwiseConv1D takes sequences (steps, channels), got (4)",
               shape_after(layer, {{4}}));
  EXPECT_ERROR(InvalidArgument, "DepthwiseConv1D: the window of 1 x 3 does not fit", shape_after(layer, {{2, 4}}));
  built(layer, {{5, 4}});
  EXPECT_ERROR(InvalidArgument, "was built for 4 channels, got (5, 6)", shape_after(layer, {{5, 6}}));
}

TEST(Conv1D, RefusesWindowsBeyond64Bits) {
  const std::int64_t huge = std::int64_t{1} << 40;
  for (const Padding1d padding : {Padding1d::valid, Padding1d::same, Padding1d::causal})
    EXPECT_ERROR(
        InvalidArgument, "Conv1D: window, strides and dilation must be below 2^31, got ",
        shape_after(Conv1D({.filters = 1, .kernel_size = huge, .padding = padding, .dilation_rate = huge}), {{3, 4}}));
  EXPECT_ERROR(InvalidArgument, "must be below 2^31, got 1 x 1099511627776",
               shape_after(DepthwiseConv1D({.kernel_size = huge, .dilation_rate = huge}), {{3, 4}}));
}

}  // namespace
}  // namespace lockstep::test
