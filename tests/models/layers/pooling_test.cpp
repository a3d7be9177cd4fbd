#include <vector>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/models/layers/pooling.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(Pooling, StridesAreThePoolSizeByDefault) {
  EXPECT_EQ(shape_after(MaxPooling2D({.pool_size = {3, 2}}), {{7, 8, 3}}), (Shape{2, 4, 3}));
  EXPECT_EQ(shape_after(MaxPooling2D({.pool_size = {3, 3}, .strides = Size2d{2, 2}}), {{7, 8, 3}}), (Shape{3, 3, 3}));
  EXPECT_EQ(shape_after(AveragePooling2D({.pool_size = {2, 2}, .padding = Padding::same}), {{7, 8, 3}}),
            (Shape{4, 4, 3}));
}

// One number is used for both axes, as in Keras.
TEST(Pooling, OneSizeIsThatOfBothAxes) {
  EXPECT_EQ(shape_after(MaxPooling2D({.pool_size = {3}}), {{7, 9, 3}}), (Shape{2, 3, 3}));
  EXPECT_EQ(shape_after(AveragePooling2D({.pool_size = 3, .strides = 1}), {{7, 9, 3}}), (Shape{5, 7, 3}));
  EXPECT_EQ(shape_after(MaxPooling2D({}), {{7, 9, 3}}), (Shape{3, 4, 3}));
  const Tensor x = random_tensor({1, 6, 9, 1}, 1);
  expect_same_bits(max_pool2d(x, {.window = 3}), max_pool2d(x, {.window = {3, 3}, .strides = Size2d{3, 3}}));
}

TEST(Pooling, ComputesTheOps) {
  const Tensor x = random_tensor({2, 7, 8, 3}, 1);
  const Pooling2DOptions options{.pool_size = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same};
  const Pool2dOptions same{.window = {3, 3}, .strides = Size2d{2, 2}, .padding = Padding::same};
  expect_same_bits(call(built(MaxPooling2D(options), {{7, 8, 3}}), {x}), max_pool2d(x, same));
  expect_same_bits(call(built(AveragePooling2D(options), {{7, 8, 3}}), {x}), average_pool2d(x, same));
}

TEST(Pooling, WritesIntoASlice) {
  const Tensor x = random_tensor({2, 4, 4, 3}, 1);
  const Tensor slice = Tensor::zeros({2, 2, 2, 8}).slice_view(-1, 2, 5);
  const MaxPooling2D layer;
  ASSERT_TRUE(layer.impl().traits().can_write_to);
  const Tensor y = call(layer, {x}, {.out = slice});
  EXPECT_EQ(y.raw_data(), slice.raw_data());
  expect_same_bits(slice, max_pool2d(x));
}

TEST(Pooling, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "MaxPooling2D needs a pool_size", MaxPooling2D({.pool_size = {0, 2}}));
  EXPECT_ERROR(InvalidArgument, "AveragePooling2D needs strides", AveragePooling2D({.strides = Size2d{0, 2}}));
  EXPECT_ERROR(InvalidArgument, "AveragePooling2D: the window of 7 x 7 does not fit",
               shape_after(AveragePooling2D({.pool_size = {7, 7}}), {{6, 6, 1}}));
}

TEST(GlobalPooling, IsOneWindow) {
  const Tensor x = random_tensor({2, 5, 3, 7}, 1);
  EXPECT_EQ(shape_after(GlobalAveragePooling2D(), {{5, 3, 7}}), Shape{7});
  EXPECT_EQ(shape_after(GlobalMaxPooling2D({.keepdims = true}), {{5, 3, 7}}), (Shape{1, 1, 7}));
  const Pool2dOptions window{.window = {5, 3}, .strides = Size2d{1, 1}};
  expect_same_bits(call(GlobalAveragePooling2D(), {x}), average_pool2d(x, window).view({2, 7}));
  expect_same_bits(call(GlobalMaxPooling2D(), {x}), max_pool2d(x, window).view({2, 7}));
  expect_same_bits(call(GlobalMaxPooling2D({.keepdims = true}), {x}), max_pool2d(x, window));
  EXPECT_ERROR(InvalidArgument, "GlobalMaxPooling2D takes images", shape_after(GlobalMaxPooling2D(), {{7}}));
}

TEST(Pooling1D, PoolsImagesOfOneRow) {
  const Tensor x = random_tensor({2, 9, 3}, 1);
  const Pooling1DOptions options{.pool_size = 3, .strides = 2, .padding = Padding::same};
  const Pool2dOptions same{.window = {1, 3}, .strides = Size2d{1, 2}, .padding = Padding::same};
  EXPECT_EQ(shape_after(MaxPooling1D(options), {{9, 3}}), (Shape{5, 3}));
  EXPECT_EQ(shape_after(AveragePooling1D({}), {{9, 3}}), (Shape{4, 3})) << "the strides are the pool size by default";
  const Tensor image = x.view({2, 1, 9, 3});
  expect_same_bits(call(MaxPooling1D(options), {x}), max_pool2d(image, same).view({2, 5, 3}));
  expect_same_bits(call(AveragePooling1D(options), {x}), average_pool2d(image, same).view({2, 5, 3}));
}

TEST(Pooling1D, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "MaxPooling1D needs a pool_size of at least 1, got 0", MaxPooling1D({.pool_size = 0}));
  EXPECT_ERROR(InvalidArgument, "AveragePooling1D needs strides of at least 1, got 0",
               AveragePooling1D({.strides = 0}));
  EXPECT_ERROR(InvalidArgument, "MaxPooling1D: the window of 1 x 7 does not fit",
               shape_after(MaxPooling1D({.pool_size = 7}), {{6, 1}}));
  EXPECT_ERROR(InvalidArgument, "AveragePooling1D takes sequences (steps, features), got (3, 4, 5)",
               shape_after(AveragePooling1D(), {{3, 4, 5}}));
}

TEST(GlobalPooling1D, IsOneWindow) {
  const Tensor x = random_tensor({2, 5, 7}, 1);
  EXPECT_EQ(shape_after(GlobalAveragePooling1D(), {{5, 7}}), Shape{7});
  EXPECT_EQ(shape_after(GlobalMaxPooling1D({.keepdims = true}), {{5, 7}}), (Shape{1, 7}));
  const Pool2dOptions window{.window = {1, 5}, .strides = Size2d{1, 1}};
  const Tensor image = x.view({2, 1, 5, 7});
  expect_same_bits(call(GlobalAveragePooling1D(), {x}), average_pool2d(image, window).view({2, 7}));
  expect_same_bits(call(GlobalMaxPooling1D(), {x}), max_pool2d(image, window).view({2, 7}));
  expect_same_bits(call(GlobalMaxPooling1D({.keepdims = true}), {x}), max_pool2d(image, window).view({2, 1, 7}));
  EXPECT_ERROR(InvalidArgument, "GlobalMaxPooling1D takes sequences", shape_after(GlobalMaxPooling1D(), {{7}}));
  EXPECT_ERROR(InvalidArgument, "GlobalAveragePooling1D needs sequences of at least one step, got (0, 7)",
               shape_after(GlobalAveragePooling1D(), {{0, 7}}));
}

// bf16 would count them as 260.
TEST(GlobalPooling1D, Counts259StepsOfAMask) {
  std::vector<float> values(259);
  values[3] = 2;
  const Tensor x = cast(Tensor::from(values, {1, 259, 1}), DType::bf16);
  const std::vector<Tensor> masks{cast(Tensor::full({1, 259}, 1), DType::boolean)};
  const Tensor mean = Tensor::from(std::vector<float>{2.0F / 259}, {1, 1});
  expect_same_bits(call(GlobalAveragePooling1D(), {x}, {.masks = masks}), cast(mean, DType::bf16));
}

}  // namespace
}  // namespace lockstep::test
