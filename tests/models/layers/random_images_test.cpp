#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <support/replicas.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/random/random.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/random_draws.h>
#include <lockstep/models/layers/random_images.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

const std::vector<Shape> image{{5, 6, 3}};

/// The numbers (n, 1) of a layer's draw `step` in its first call.
Tensor drawn(std::int64_t n, double lower, double upper, std::uint64_t step) {
  return uniform({n, 1}, lower, upper, [=] { return RandomKey{.seed = 7, .stream = 48, .replica = 0, .step = step}; });
}

std::vector<Layer> all_layers() {
  return {built(RandomFlip(), image, seed),
          built(RandomTranslation({.height_factor = 0.5, .width_factor = 0.5}), image, seed),
          built(RandomZoom({.height_factor = 0.5}), image, seed),
          built(RandomRotation({.factor = 0.5}), image, seed),
          built(RandomCrop({.height = 3, .width = 4}), image, seed),
          built(RandomBrightness({.factor = 0.5, .value_range = {-1, 1}}), image, seed),
          built(RandomContrast({.factor = 0.5, .value_range = {-1, 1}}), image, seed)};
}

TEST(RandomImages, ChangeInTrainingOnly) {
  const Tensor x = random_tensor({4, 5, 6, 3}, 1);
  for (const Layer& layer : all_layers()) {
    SCOPED_TRACE(layer.impl().class_name());
    EXPECT_EQ(call(layer, {x}).id() == x.id(), layer.impl().class_name() != "RandomCrop");
    EXPECT_EQ(call(layer, {Tensor::zeros({0, 5, 6, 3})}, training).dim(0), 0) << "a replica without rows";
    EXPECT_THAT(layer.impl().random_draws()->counts(), testing::Each(testing::Gt(0U)));
    EXPECT_NE(call(layer, {x}, training).to_vector<float>(), call(layer, {x}, training).to_vector<float>());
    EXPECT_ERROR(InvalidArgument, "takes images (height, width, channels), got (5)", shape_after(layer, {{5}}));
  }
}

TEST(RandomImages, RepeatWithTheSeedAndDifferBetweenReplicas) {
  const MirroredStrategy strategy = mirrored(2);
  const Tensor x = random_tensor({32, 5, 6, 3}, 1);
  const std::vector<Layer> first = strategy.scope(all_layers);
  const std::vector<Layer> again = strategy.scope(all_layers);
  for (std::size_t i = 0; i < first.size(); ++i) {
    SCOPED_TRACE(first[i].impl().class_name());
    const auto results_of = [&](const Layer& layer) {
      const auto twice = [&] { return std::pair(call(layer, {x}, training), call(layer, {x}, training)); };
      std::vector<std::vector<float>> results;
      for (const auto& [a, b] : strategy.run(twice).local_results()) {
        results.push_back(a.to_vector<float>());
        results.push_back(b.to_vector<float>());
      }
      return results;
    };
    const std::vector<std::vector<float>> results = results_of(first[i]);
    EXPECT_EQ(results, results_of(again[i]));
    // Calls of RandomCrop may draw the same of its nine places.
    const std::size_t least = first[i].impl().class_name() == "RandomCrop" ? 2 : results.size();
    EXPECT_GE(std::set(results.begin(), results.end()).size(), least);
  }
}

TEST(RandomFlip, FlipsAboutHalfOfTheImages) {
  const Tensor x = random_tensor({64, 5, 6, 3}, 1);
  for (const auto& [mode, axes] :
       {std::pair(FlipMode::horizontal, std::vector{2}), std::pair(FlipMode::vertical, std::vector{1}),
        std::pair(FlipMode::horizontal_and_vertical, std::vector{1, 2})}) {
    const Tensor y = call(built(RandomFlip({.mode = mode}), image, seed), {x}, training);
    const Tensor flipped = flip(x, axes);
    const std::vector<float> numbers = drawn(64, 0, 1, 0).to_vector<float>();
    for (std::int64_t i = 0; i < 64; ++i) {
      const Tensor& expected = numbers[static_cast<std::size_t>(i)] < 0.5F ? flipped : x;
      expect_same_bits(y.slice_view(0, i, i + 1), expected.slice_view(0, i, i + 1));
    }
    EXPECT_LE(20, std::ranges::count_if(numbers, [](float number) { return number < 0.5F; }));
    EXPECT_LE(20, std::ranges::count_if(numbers, [](float number) { return number >= 0.5F; }));
  }
}

TEST(RandomTranslation, ShiftsByTheDrawnShares) {
  const Tensor x = random_tensor({2, 5, 6, 3}, 1);
  const RandomTranslation one({.height_factor = {0.2, 0.2}, .width_factor = {-0.5, -0.5}, .fill_mode = FillMode::wrap});
  const Tensor wrapped = roll(roll(x, 1, 1), -3, 2);
  expect_close(call(built(one, image, seed), {x}, training), wrapped.to_vector<double>(), 8);
  const RandomTranslation layer({.height_factor = {-0.25, 0.5}, .width_factor = 0.5, .fill_value = 2});
  const Tensor down = drawn(2, -0.25, 0.5, 0) * 5;
  const Tensor right = drawn(2, -0.5, 0.5, 1) * 6;
  const Tensor zero = Tensor::zeros({2, 1});
  const Tensor one_each = Tensor::full({2, 1}, 1);
  const Tensor transforms = concatenate(std::vector{one_each, zero, -right, zero, one_each, -down, zero, zero}, 1);
  expect_same_bits(call(built(layer, image, seed), {x}, training),
                   affine_transform(x, transforms, {.fill_mode = FillMode::reflect}));
}

TEST(RandomRotation, TurnsCounterClockwise) {
  const Tensor x = random_tensor({2, 5, 5, 3}, 1);
  const RandomRotation quarter({.factor = {0.25, 0.25}, .interpolation = Interpolation::nearest});
  const Tensor turned = flip(swapaxes(x, 1, 2), {1});
  expect_close(call(built(quarter, image, seed), {x}, training), turned.to_vector<double>());
}

TEST(RandomZoom, ScalesAroundTheCenter) {
  const Tensor x = random_tensor({2, 5, 9, 3}, 1);
  const RandomZoom half({.height_factor = {-0.5, -0.5}, .fill_mode = FillMode::constant});
  const Tensor y = call(built(half, image, seed), {x}, training);
  // Every second pixel of the result is one of the middle of x.
  for (std::int64_t row = 0; row < 3; ++row)
    for (std::int64_t column = 0; column < 5; ++column) {
      const auto pixel = [](const Tensor& of, std::int64_t row, std::int64_t column) {
        return of.slice_view(1, row, row + 1).slice_view(2, column, column + 1);
      };
      expect_close(pixel(y, 2 * row, 2 * column), pixel(x, 1 + row, 2 + column).to_vector<double>());
    }
  const RandomZoom rows({.height_factor = {-0.5, -0.5}, .width_factor = RandomRange(0)});
  const Tensor stretched = call(built(rows, image, seed), {x}, training);
  expect_close(stretched.slice_view(1, 2, 3), x.slice_view(1, 2, 3).to_vector<double>());
}

TEST(RandomCrop, ReturnsEveryPart) {
  const RandomCrop layer = built(RandomCrop({.height = 4, .width = 4}), image, seed);
  EXPECT_EQ(shape_after(layer, image), (Shape{4, 4, 3}));
  const Tensor x = random_tensor({2, 5, 6, 3}, 1);
  std::vector<int> found(6);
  for (int i = 0; i < 60; ++i) {
    const std::vector<float> y = call(layer, {x}, training).to_vector<float>();
    for (std::int64_t place = 0; place < 6; ++place) {
      const Tensor part = x.slice_view(1, place / 3, place / 3 + 4).slice_view(2, place % 3, place % 3 + 4);
      found[static_cast<std::size_t>(place)] += part.to_vector<float>() == y ? 1 : 0;
    }
  }
  EXPECT_THAT(found, testing::Each(testing::Gt(0)));
  EXPECT_EQ(found[0] + found[1] + found[2] + found[3] + found[4] + found[5], 60);
}

TEST(RandomCrop, ResizesAtInferenceAndSmallImages) {
  const Tensor x = random_tensor({2, 5, 6, 3}, 1);
  expect_same_bits(call(built(RandomCrop({.height = 3, .width = 4}), image, seed), {x}),
                   resize(x, {3, 4}, {.crop_to_aspect_ratio = true}));
  expect_same_bits(call(built(RandomCrop({.height = 7, .width = 4}), image, seed), {x}, training),
                   resize(x, {7, 4}, {.crop_to_aspect_ratio = true}));
}

TEST(RandomBrightness, AddsANumberToEachImage) {
  const Tensor x = random_tensor({2, 5, 6, 3}, 1, 0, 255);
  const RandomBrightness layer({.factor = {-0.25, 0.5}});
  const Tensor delta = reshape(drawn(2, -63.75, 127.5, 0), {2, 1, 1, 1});
  expect_same_bits(call(built(layer, image, seed), {x}, training), clip(x + delta, 0, 255));
}

TEST(RandomContrast, ScalesTheDifferencesToTheMeans) {
  const Tensor x = random_tensor({2, 5, 6, 3}, 1);
  const Tensor means = mean(x, {1, 2}, true);
  for (const auto& [range, least] : {std::pair(RandomRange(0.5), 1.0), std::pair(RandomRange(0.25, 0.5), 0.75)}) {
    const RandomContrast layer({.factor = range, .value_range = {-0.5, 0.5}});
    const Tensor factor = reshape(drawn(2, least, 1.5, 0), {2, 1, 1, 1});
    expect_same_bits(call(built(layer, image, seed), {x}, training), clip((x - means) * factor + means, -0.5, 0.5));
  }
}

}  // namespace
}  // namespace lockstep::test
