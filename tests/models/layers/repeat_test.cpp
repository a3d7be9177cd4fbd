#include <lockstep/kernels/array/shapes.h>
#include <lockstep/models/layers/repeat.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(Identity, ReturnsItsInput) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  EXPECT_EQ(call(Identity(), {x}).id(), x.id());
  EXPECT_EQ(shape_after(Identity({}), {{3, 4}}), (Shape{3, 4}));
  EXPECT_TRUE(Identity().impl().traits().may_return_input);
}

TEST(RepeatVector, RepeatsEachExample) {
  const RepeatVector layer({.n = 3});
  EXPECT_EQ(shape_after(layer, {{4}}), (Shape{3, 4}));
  const Tensor x = random_tensor({2, 4}, 1);
  const Tensor y = call(layer, {x});
  for (std::int64_t i = 0; i < 3; ++i) expect_same_bits(y.slice_view(1, i, i + 1), x.view({2, 1, 4}));
  EXPECT_ERROR(InvalidArgument, "RepeatVector needs an n of at least 1, got 0", RepeatVector({.n = 0}));
  EXPECT_ERROR(InvalidArgument, "RepeatVector takes vectors (features), got (3, 4)", shape_after(layer, {{3, 4}}));
}

TEST(UpSampling1D, RepeatsSteps) {
  EXPECT_EQ(shape_after(UpSampling1D({}), {{3, 4}}), (Shape{6, 4}));
  const Tensor x = random_tensor({2, 3, 4}, 1);
  expect_same_bits(call(UpSampling1D({.size = 3}), {x}), repeat(x, 3, 1));
  EXPECT_ERROR(InvalidArgument, "UpSampling1D needs a size of at least 1, got 0", UpSampling1D({.size = 0}));
  EXPECT_ERROR(InvalidArgument, "UpSampling1D takes sequences (steps, features), got (3)",
               shape_after(UpSampling1D(), {{3}}));
}

TEST(UpSampling2D, RepeatsRowsAndColumns) {
  EXPECT_EQ(shape_after(UpSampling2D({}), {{3, 4, 5}}), (Shape{6, 8, 5}));
  const UpSampling2D layer({.size = {2, 3}});
  EXPECT_EQ(shape_after(layer, {{3, 4, 5}}), (Shape{6, 12, 5}));
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  expect_same_bits(call(layer, {x}), repeat(repeat(x, 2, 1), 3, 2));
  EXPECT_ERROR(InvalidArgument, "UpSampling2D needs sizes of at least 1, got (0, 1)", UpSampling2D({.size = {0, 1}}));
  EXPECT_ERROR(InvalidArgument, "UpSampling2D takes images (height, width, channels), got (3)",
               shape_after(UpSampling2D(), {{3}}));
}

TEST(UpSampling, RefusesSizesBeyond64Bits) {
  const std::int64_t huge = std::int64_t{1} << 61;
  EXPECT_EQ(shape_after(UpSampling1D({.size = huge}), {{1, 4}}), (Shape{huge, 4}));
  EXPECT_ERROR(InvalidArgument, "UpSampling1D of (2, 4): a result of 4611686018427387904 elements along an axis",
               shape_after(UpSampling1D({.size = huge}), {{2, 4}}));
  EXPECT_ERROR(InvalidArgument, "UpSampling2D of (1, 8, 3): a result of ",
               shape_after(UpSampling2D({.size = {1, huge}}), {{1, 8, 3}}));
  EXPECT_ERROR(InvalidArgument, "axis 0 cannot be repeated 2305843009213693952 times",
               repeat(Tensor::zeros({8}), huge, 0));
  EXPECT_ERROR(InvalidArgument, "tile of f32 (8)", tile(Tensor::zeros({8}), {huge}));
}

}  // namespace
}  // namespace lockstep::test
