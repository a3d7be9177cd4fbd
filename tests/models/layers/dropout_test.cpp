#include <cmath>

#include <support/replicas.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/statistics.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/random/normal.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/dropout.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

std::vector<float> masks(const Layer& layer, int calls, const Tensor& ones) {
  std::vector<float> masks;
  for (int i = 0; i < calls; ++i)
    for (const float element : call(layer, {ones}, training).to_vector<float>()) masks.push_back(element);
  return masks;
}

TEST(Dropout, DoesNothingAtInference) {
  const Dropout layer = built(Dropout({.rate = 0.5}), {{4}}, seed);
  const Tensor x = random_tensor({3, 4}, 1);
  EXPECT_EQ(call(layer, {x}).id(), x.id());
}

TEST(Dropout, DrawsAMaskForEachCallInTraining) {
  const Dropout layer = built(Dropout({.rate = 0.25}), {{64}}, seed);
  const Tensor x = random_tensor({8, 64}, 1);
  const Tensor first = call(layer, {x}, training);
  call(layer, {x});  // inference draws no random numbers
  const Tensor second = call(layer, {x}, training);
  expect_same_bits(first, dropout(x, 0.25F, {.seed = 7, .stream = 48, .replica = 0, .step = 0}));
  expect_same_bits(second, dropout(x, 0.25F, {.seed = 7, .stream = 48, .replica = 0, .step = 1}));
  EXPECT_NE(first.to_vector<float>(), second.to_vector<float>());
}

TEST(Dropout, RepeatsWithTheSeedAndDiffersBetweenLayers) {
  const Tensor ones = Tensor::full({8, 64}, 1);
  const auto masks_of = [&](const LayerSeed& of) { return masks(built(Dropout({.rate = 0.5}), {{64}}, of), 2, ones); };
  EXPECT_EQ(masks_of(seed), masks_of(seed));
  EXPECT_NE(masks_of(seed), masks_of({.seed = 8, .stream = 3}));
  EXPECT_NE(masks_of(seed), masks_of({.seed = 7, .stream = 4}));
}

// semantics 9.1: by seed, layer, replica and step. Probe P8: Keras 3's masks are the same on all replicas
TEST(Dropout, EveryReplicaDrawsItsOwnMasks) {
  const MirroredStrategy strategy = mirrored(3);
  const Dropout layer = strategy.scope([] { return built(Dropout({.rate = 0.5}), {{64}}, seed); });
  const Tensor ones = Tensor::full({8, 64}, 1);
  const auto run = [&] { return strategy.run([&] { return masks(layer, 1, ones); }).local_results(); };
  const auto first = run();
  const auto second = run();
  for (std::uint32_t replica = 0; replica < 3; ++replica) {
    const auto expected = [&](std::uint64_t step) {
      return dropout(ones, 0.5F, {.seed = 7, .stream = 48, .replica = replica, .step = step}).to_vector<float>();
    };
    EXPECT_EQ(first[replica], expected(0)) << replica;
    EXPECT_EQ(second[replica], expected(1)) << replica;
  }
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[1], first[2]);
}

TEST(Dropout, DropsWhatTheNoiseShapeJoinsTogether) {
  const Dropout layer = built(Dropout({.rate = 0.5, .noise_shape = {-1, 1, -1}}), {{5, 8}}, seed);
  const Tensor x = random_tensor({6, 5, 8}, 1, 1, 2);
  const Tensor mask = dropout(Tensor::full({6, 1, 8}, 1), 0.5F, {.seed = 7, .stream = 48, .replica = 0, .step = 0});
  expect_same_bits(call(layer, {x}, training), multiply(x, mask));
  EXPECT_EQ(call(layer, {x}).id(), x.id()) << "inference";
  EXPECT_ERROR(InvalidArgument, "Dropout with the noise_shape (-1, 1, -1) takes 3 axes, the batch axis included, got 2",
               shape_after(layer, {{8}}));
  EXPECT_ERROR(InvalidArgument, "a noise_shape of sizes of at least 1 and -1 (None), got (0, 1)",
               Dropout({.rate = 0.5, .noise_shape = {0, 1}}));
}

TEST(Dropout, TakesTheSizesOfAxesInItsNoiseShape) {
  const Tensor x = random_tensor({6, 5, 8}, 1, 1, 2);
  const auto dropped = [&](const std::vector<std::int64_t>& noise_shape) {
    return call(built(Dropout({.rate = 0.5, .noise_shape = noise_shape}), {{5, 8}}, seed), {x}, training);
  };
  expect_same_bits(dropped({6, 1, 8}), dropped({-1, 1, -1}));
  expect_same_bits(dropped({6, 5, 8}), dropped({}));
  const Dropout layer = built(Dropout({.rate = 0.5, .noise_shape = {6, 1, 8}}), {{5, 8}}, seed);
  EXPECT_ERROR(InvalidArgument, "Dropout with the noise_shape (6, 1, 8) takes 8 elements along axis 2, got 7",
               call(layer, {Tensor::zeros({6, 5, 7})}, training));
  EXPECT_ERROR(InvalidArgument, "Dropout with the noise_shape (6, 1, 8) takes 6 elements along axis 0, got 2",
               call(layer, {x.slice_view(0, 0, 2)}, training));
  EXPECT_EQ(call(layer, {Tensor::zeros({0, 5, 8})}, training).shape(), Shape({0, 5, 8}))
      << "a replica without examples";
}

TEST(SpatialDropout, DropsWholeFeatures) {
  const SpatialDropout1D steps = built(SpatialDropout1D({.rate = 0.5}), {{5, 8}}, seed);
  const SpatialDropout2D pixels = built(SpatialDropout2D({.rate = 0.5}), {{3, 4, 8}}, seed);
  const RandomKey key{.seed = 7, .stream = 48, .replica = 0, .step = 0};
  const Tensor sequence = random_tensor({6, 5, 8}, 1, 1, 2);
  const Tensor mask = dropout(Tensor::full({6, 1, 8}, 1), 0.5F, key);
  expect_same_bits(call(steps, {sequence}, training), multiply(sequence, mask));
  const Tensor image = random_tensor({6, 3, 4, 8}, 1, 1, 2);
  expect_same_bits(call(pixels, {image}, training), multiply(image, mask.view({6, 1, 1, 8})));
  EXPECT_EQ(call(pixels, {image}).id(), image.id()) << "inference";
  EXPECT_ERROR(InvalidArgument, "SpatialDropout1D takes 3 axes, the batch axis included, got 4",
               shape_after(steps, {{3, 4, 8}}));
  EXPECT_ERROR(InvalidArgument, "SpatialDropout2D needs a rate of at least 0 and below 1, got 1",
               SpatialDropout2D({.rate = 1}));
}

TEST(GaussianNoise, AddsNumbersInTraining) {
  const GaussianNoise layer = built(GaussianNoise({.stddev = 0.5}), {{4}}, seed);
  const Tensor x = random_tensor({6, 4}, 1);
  for (const std::uint64_t step : {0, 1}) {
    const RandomKey key{.seed = 7, .stream = 48, .replica = 0, .step = step};
    expect_same_bits(call(layer, {x}, training), x + normal({6, 4}, 0, 0.5, [&] { return key; }));
    EXPECT_EQ(call(layer, {x}).id(), x.id()) << "inference draws no random numbers";
  }
  EXPECT_EQ(call(GaussianNoise({.stddev = 0}), {x}, training).id(), x.id());
  EXPECT_ERROR(InvalidArgument, "GaussianNoise needs a stddev from 0 to 1, got -1", GaussianNoise({}));
}

TEST(GaussianDropout, MultipliesByNumbersInTraining) {
  const GaussianDropout layer = built(GaussianDropout({.rate = 0.2}), {{64}}, seed);
  const Tensor x = random_tensor({512, 64}, 1, 1, 2);
  const RandomKey key{.seed = 7, .stream = 48, .replica = 0, .step = 0};
  const Tensor y = call(layer, {x}, training);
  expect_same_bits(y, x * normal({512, 64}, 1, 0.5, [&] { return key; }));
  // Five standard errors of the mean and the deviation of 32,768 numbers.
  const Tensor factors = y / x;
  EXPECT_NEAR(mean(factors).item<float>(), 1, 5 * 0.5 / std::sqrt(512 * 64));
  EXPECT_NEAR(lockstep::std(factors).item<float>(), 0.5, 5 * 0.5 / std::sqrt(2 * 512 * 64));
  EXPECT_EQ(call(layer, {x}).id(), x.id()) << "inference";
  EXPECT_ERROR(InvalidArgument, "a rate of at least 0 and below 1, got 1", GaussianDropout({.rate = 1}));
}

TEST(StochasticDepth, DropsWholeExamples) {
  const StochasticDepth layer = built(StochasticDepth({.drop_path_rate = 0.5}), {{3, 4}}, seed);
  const Tensor x = random_tensor({32, 3, 4}, 1, 1, 2);
  const Tensor mask = dropout(Tensor::full({32, 1, 1}, 1), 0.5F, {.seed = 7, .stream = 48, .replica = 0, .step = 0});
  expect_same_bits(call(layer, {x}, training), multiply(x, mask));
  EXPECT_THAT(mask.to_vector<float>(), testing::AllOf(testing::Contains(0), testing::Contains(2)));
  EXPECT_EQ(call(layer, {x}).id(), x.id()) << "inference";
  EXPECT_ERROR(InvalidArgument, "a drop_path_rate of at least 0 and below 1, got 1",
               StochasticDepth({.drop_path_rate = 1}));
}

TEST(Dropout, RefusesARateOutsideItsRange) {
  EXPECT_ERROR(InvalidArgument, "at least 0 and below 1, got 1", Dropout({.rate = 1}));
  EXPECT_ERROR(InvalidArgument, "at least 0 and below 1, got -0.5", Dropout({.rate = -0.5}));
}

}  // namespace
}  // namespace lockstep::test
