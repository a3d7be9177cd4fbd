#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/models/layers/repeat.h>
#include <lockstep/models/layers/resizing.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(Resizing, CallsTheOpWithItsOptions) {
  const Tensor x = random_tensor({2, 5, 7, 3}, 1);
  expect_same_bits(call(Resizing({.height = 4, .width = 9}), {x}), resize(x, {4, 9}));
  for (const Interpolation interpolation : {Interpolation::nearest, Interpolation::bicubic, Interpolation::lanczos5})
    for (const bool antialias : {false, true}) {
      const Resizing layer({.height = 4, .width = 9, .interpolation = interpolation, .antialias = antialias});
      EXPECT_EQ(shape_after(layer, {{5, 7, 3}}), (Shape{4, 9, 3}));
      expect_same_bits(call(layer, {x}), resize(x, {4, 9}, {.interpolation = interpolation, .antialias = antialias}));
    }
  const Resizing cropped({.height = 3, .width = 6, .crop_to_aspect_ratio = true});
  expect_same_bits(call(cropped, {x}), resize(x, {3, 6}, {.crop_to_aspect_ratio = true}));
  const Resizing padded({.height = 3, .width = 6, .pad_to_aspect_ratio = true, .fill_value = 2});
  expect_same_bits(call(padded, {x}), resize(x, {3, 6}, {.pad_to_aspect_ratio = true, .fill_value = 2}));
  EXPECT_EQ(call(Resizing({.height = 5, .width = 7}), {x}).id(), x.id());
}

TEST(Resizing, RefusesWhatItCannotResize) {
  EXPECT_ERROR(InvalidArgument, "Resizing needs a height and a width of at least 1, got 0 x 3", Resizing({.width = 3}));
  EXPECT_ERROR(InvalidArgument, "Resizing takes one of crop_to_aspect_ratio and pad_to_aspect_ratio, got both",
               Resizing({.height = 3, .width = 3, .crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true}));
  const Resizing layer({.height = 3, .width = 3});
  EXPECT_ERROR(InvalidArgument, "Resizing takes images (height, width, channels), got (3, 3)",
               shape_after(layer, {{3, 3}}));
  EXPECT_ERROR(InvalidArgument, "Resizing takes images with pixels, got (0, 3, 3)", shape_after(layer, {{0, 3, 3}}));
}

TEST(UpSampling2D, Interpolates) {
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  const UpSampling2D layer({.size = {2, 3}, .interpolation = Interpolation::bilinear});
  expect_same_bits(call(layer, {x}), resize(x, {6, 12}));
}

TEST(CenterCrop, CutsOutTheMiddle) {
  const CenterCrop layer({.height = 2, .width = 4});
  EXPECT_EQ(shape_after(layer, {{5, 7, 3}}), Shape({2, 4, 3}));
  const Tensor x = random_tensor({2, 5, 7, 3}, 1);
  expect_same_bits(call(layer, {x}), slice(slice(x, 1, 1, 3), 2, 1, 5));
  const Tensor low = random_tensor({2, 1, 7, 3}, 1);
  expect_same_bits(call(layer, {low}), resize(low, {2, 4}, {.crop_to_aspect_ratio = true}));
  EXPECT_ERROR(InvalidArgument, "CenterCrop needs a height and a width of at least 1, got 3 x 0",
               CenterCrop({.height = 3}));
}

}  // namespace
}  // namespace lockstep::test
