#include <lockstep/kernels/convolution/conv1d_transpose.h>
#include <lockstep/kernels/convolution/conv2d_transpose.h>
#include <lockstep/models/layers/conv_transpose.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(Conv2DTranspose, HasKerasWeightsAndComputesTheOp) {
  const Conv2DTranspose layer = built(Conv2DTranspose({.filters = 6,
                                                       .kernel_size = {3, 2},
                                                       .strides = {2, 3},
                                                       .padding = Padding::same,
                                                       .output_padding = Size2d{0, 1},
                                                       .activation = Activation::softmax}),
                                      {{4, 5, 3}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/kernel (3, 2, 6, 3)", "layer/bias (6)"));
  EXPECT_EQ(shape_after(layer, {{4, 5, 3}}), (Shape{7, 13, 6}));
  const Tensor x = random_tensor({2, 4, 5, 3}, 1);
  const Conv2dTransposeOptions options{
      .strides = {2, 3}, .padding = Padding::same, .output_padding = Size2d{0, 1}, .activation = Activation::softmax};
  const Tensor y = conv2d_transpose(x, weight(layer, 0), weight(layer, 1), options);
  EXPECT_EQ(y.shape(), (Shape{2, 7, 13, 6}));
  expect_same_bits(call(layer, {x}), y);
  EXPECT_TRUE(call(layer, {x}, {.is_output = true}).origin("softmax").defined()) << "losses need the logits";
}

// The examples of Keras' documentation, and the sizes of its compute_conv_transpose_output_shape.
TEST(Conv2DTranspose, GivesKerasSizes) {
  const auto size = [](std::int64_t kernel, std::int64_t stride, Padding padding, std::optional<Size2d> added = {}) {
    const Conv2DTransposeOptions options{
        .filters = 1, .kernel_size = kernel, .strides = stride, .padding = padding, .output_padding = added};
    return shape_after(Conv2DTranspose(options), {{5, 5, 2}})[0];
  };
  EXPECT_EQ(size(3, 1, Padding::valid), 7);
  EXPECT_EQ(size(3, 2, Padding::valid), 11);
  EXPECT_EQ(size(2, 3, Padding::valid), 15);
  EXPECT_EQ(size(2, 3, Padding::valid, 0), 14);
  EXPECT_EQ(size(3, 2, Padding::same), 10);
  EXPECT_EQ(size(3, 2, Padding::same, 0), 9);
  EXPECT_EQ(size(4, 2, Padding::same, 1), 9);
  EXPECT_EQ(size(4, 1, Padding::same, 0), 4);
}

TEST(Conv2DTranspose, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "Conv2DTranspose needs at least 1 filter, got 0", Conv2DTranspose({.kernel_size = 1}));
  EXPECT_ERROR(InvalidArgument, "Conv2DTranspose needs a kernel_size of at least 1, got (0, 0)",
               Conv2DTranspose({.filters = 1}));
  EXPECT_ERROR(InvalidArgument, "Conv2DTranspose takes strides or a dilation_rate above 1, not both",
               Conv2DTranspose({.filters = 1, .kernel_size = 1, .strides = {1, 2}, .dilation_rate = 2}));
  EXPECT_ERROR(InvalidArgument, "output_padding of at least 0 and below the strides, got (1, 2) for (2, 2)",
               Conv2DTranspose({.filters = 1, .kernel_size = 1, .strides = 2, .output_padding = Size2d{1, 2}}));
  EXPECT_ERROR(InvalidArgument, "output_padding of at least 0 and below the strides, got (-1, 0) for (1, 1)",
               Conv2DTranspose({.filters = 1, .kernel_size = 1, .output_padding = Size2d{-1, 0}}));
  const Conv2DTranspose layer({.filters = 2, .kernel_size = 3});
  EXPECT_ERROR(InvalidArgument, "Conv2DTranspose takes images (height, width, channels), got (4)",
               shape_after(layer, {{4}}));
  EXPECT_ERROR(InvalidArgument, "Conv2DTranspose: x (1, 0, 4, 2) gives a result of", shape_after(layer, {{0, 4, 2}}));
  built(layer, {{5, 5, 4}});
  EXPECT_ERROR(InvalidArgument, "'layer' was built for 4 channels, got (5, 5, 6)", shape_after(layer, {{5, 5, 6}}));
}

TEST(Conv1DTranspose, IsItsOp) {
  const Conv1DTranspose layer = built(Conv1DTranspose({.filters = 4,
                                                       .kernel_size = 3,
                                                       .strides = 2,
                                                       .padding = Padding::same,
                                                       .output_padding = 1,
                                                       .activation = Activation::relu}),
                                      {{5, 3}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/kernel (3, 4, 3)", "layer/bias (4)"));
  EXPECT_EQ(shape_after(layer, {{5, 3}}), (Shape{10, 4}));
  EXPECT_EQ(shape_after(layer, {{7, 3}}), (Shape{14, 4})) << "the number of steps may change";
  const Tensor x = random_tensor({2, 5, 3}, 1);
  const Conv1dTransposeOptions options{
      .stride = 2, .padding = Padding::same, .output_padding = 1, .activation = Activation::relu};
  expect_same_bits(call(layer, {x}), conv1d_transpose(x, weight(layer, 0), weight(layer, 1), options));
  EXPECT_ERROR(InvalidArgument, "Conv1DTranspose needs strides of at least 1, got (0)",
               Conv1DTranspose({.filters = 1, .kernel_size = 1, .strides = 0}));
  EXPECT_ERROR(InvalidArgument, "below the strides, got (2) for (2)",
               Conv1DTranspose({.filters = 1, .kernel_size = 1, .strides = 2, .output_padding = 2}));
  EXPECT_ERROR(InvalidArgument, "Conv1DTranspose takes sequences (steps, features), got (4)",
               shape_after(layer, {{4}}));
}

}  // namespace
}  // namespace lockstep::test
