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

}  // namespace
}  // namespace lockstep::test
