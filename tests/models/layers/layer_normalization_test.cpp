#include <array>
#include <cmath>

#include <support/gradient_check.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/normalization/layer_norm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/runtime/autograd/tape.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(LayerNormalization, HasKerasWeights) {
  const LayerNormalization layer = built(LayerNormalization(), {{5, 7}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/gamma (7)", "layer/beta (7)"));
  expect_same_bits(weight(layer, 0), Tensor::full({7}, 1));
  expect_same_bits(weight(layer, 1), Tensor::zeros({7}));
  EXPECT_EQ(shape_after(layer, {{5, 7}}), (Shape{5, 7}));
}

TEST(LayerNormalization, ComputesTheOp) {
  const LayerNormalization layer = built(LayerNormalization({.epsilon = 0.1, .beta_initializer = ones}), {{5, 7}});
  const Tensor x = random_tensor({3, 5, 7}, 1);
  expect_same_bits(call(layer, {x}), layer_norm(x, weight(layer, 0), weight(layer, 1), 0.1F));
  expect_same_bits(call(built(LayerNormalization(), {{7}}), {x}),
                   layer_norm(x, Tensor::full({7}, 1), Tensor::zeros({7}), 1e-3F));
}

TEST(LayerNormalization, HasNoGammaOrBetaOnRequest) {
  const Tensor x = random_tensor({3, 5, 7}, 1);
  const LayerNormalization unscaled = built(LayerNormalization({.scale = false, .beta_initializer = ones}), {{7}});
  EXPECT_THAT(weights_of(unscaled), testing::ElementsAre("layer/beta (7)"));
  expect_same_bits(call(unscaled, {x}), layer_norm(x, Tensor::full({7}, 1), Tensor::full({7}, 1)));
  const LayerNormalization neither =
      built(LayerNormalization({.center = false, .scale = false, .beta_initializer = ones, .gamma_initializer = zeros}),
            {{7}});
  EXPECT_THAT(weights_of(neither), testing::IsEmpty());
  expect_same_bits(call(neither, {x}), layer_norm(x, Tensor::full({7}, 1), Tensor::zeros({7})));
}

TEST(LayerNormalization, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "epsilon above 0, got 0", LayerNormalization({.epsilon = 0}));
  const LayerNormalization layer = built(LayerNormalization(), {{4}});
  EXPECT_ERROR(InvalidArgument, "built for features of (4), got (5)", shape_after(layer, {{5}}));
  EXPECT_ERROR(InvalidArgument, "LayerNormalization needs different axes behind the batch axis, got (1, -1) for (5)",
               shape_after(LayerNormalization({.axis = {1, -1}}), {{5}}));
}

TEST(LayerNormalization, NormalizesOverAnyAxes) {
  const Tensor x = random_tensor({2, 3, 4, 5}, 1);
  const auto initial = random_uniform({.minval = -1, .maxval = 1});
  const LayerNormalization layer = built(
      LayerNormalization({.axis = {3, 1}, .beta_initializer = initial, .gamma_initializer = initial}), {{3, 4, 5}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/gamma (3, 5)", "layer/beta (3, 5)"));
  const Tensor rows = reshape(transpose(x, {0, 2, 1, 3}), {2, 4, 15});
  const Tensor expected = layer_norm(rows, weight(layer, 0).view({15}), weight(layer, 1).view({15}));
  expect_same_bits(call(layer, {x}), transpose(reshape(expected, {2, 4, 3, 5}), {0, 2, 1, 3}));
  EXPECT_EQ(shape_after(layer, {{3, 7, 5}}), (Shape{3, 7, 5})) << "the sizes of other axes may change";
}

/// The groups of x (n, places, channels), normalized, times the channel's gamma, plus its beta.
Reference group_normalized(const Shape& x, std::int64_t groups, double epsilon) {
  return [=](const std::vector<std::vector<double>>& in) {
    const std::int64_t of_group = x[2] / groups;
    std::vector<double> y(in[0].size());
    for (std::int64_t n = 0; n < x[0]; ++n)
      for (std::int64_t group = 0; group < groups; ++group) {
        const auto each = [&](const auto& body) {
          for (std::int64_t place = 0; place < x[1]; ++place)
            for (std::int64_t channel = group * of_group; channel < (group + 1) * of_group; ++channel)
              body(static_cast<std::size_t>((n * x[1] + place) * x[2] + channel), static_cast<std::size_t>(channel));
        };
        const auto elements = static_cast<double>(x[1] * of_group);
        double mean = 0;
        double variance = 0;
        each([&](std::size_t i, std::size_t) { mean += in[0][i] / elements; });
        each([&](std::size_t i, std::size_t) { variance += std::pow(in[0][i] - mean, 2) / elements; });
        each([&](std::size_t i, std::size_t channel) {
          y[i] = (in[0][i] - mean) / std::sqrt(variance + epsilon) * in[1][channel] + in[2][channel];
        });
      }
    return y;
  };
}

TEST(GroupNormalization, NormalizesGroupsOfChannels) {
  const auto initial = random_uniform({.minval = -1, .maxval = 1});
  const GroupNormalization layer = built(
      GroupNormalization({.groups = 3, .epsilon = 0.01, .beta_initializer = initial, .gamma_initializer = initial}),
      {{2, 4, 6}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/gamma (6)", "layer/beta (6)"));
  const Tensor x = random_tensor({2, 2, 4, 6}, 1, -1, 3);
  check_gradients([&](std::span<const Tensor> in) { return call(layer, {in[0]}); },
                  group_normalized({2, 8, 6}, 3, 0.01), {x, weight(layer, 0), weight(layer, 1)}, {.length = 16});
  EXPECT_EQ(call(layer, {x}).shape(), x.shape());
  EXPECT_EQ(shape_after(layer, {{5, 1, 6}}), (Shape{5, 1, 6})) << "the size of the images may change";
}

TEST(GroupNormalization, TakesEachChannelAsAGroupAndChannelsOfAnyAxis) {
  const Tensor x = random_tensor({2, 5, 4}, 1, -1, 3);
  const std::vector<double> expected = group_normalized(
      {2, 5, 4}, 4, 1e-3)({x.to_vector<double>(), std::vector<double>(4, 1), std::vector<double>(4, 0)});
  const GroupNormalization each = built(GroupNormalization({.groups = -1, .center = false, .scale = false}), {{5, 4}});
  EXPECT_THAT(weights_of(each), testing::IsEmpty());
  expect_close(call(each, {x}), expected, 16);
  const GroupNormalization first =
      built(GroupNormalization({.groups = 4, .axis = 1, .gamma_initializer = constant(2)}), {{4, 5}});
  EXPECT_THAT(weights_of(first), testing::ElementsAre("layer/gamma (4)", "layer/beta (4)"));
  const Tensor moved = call(first, {dense_copy(transpose(x, {0, 2, 1}))});
  EXPECT_EQ(moved.shape(), (Shape{2, 4, 5}));
  expect_close(dense_copy(transpose(moved, {0, 2, 1})) * 0.5, expected, 16);
}

TEST(GroupNormalization, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "at least 1 group, or -1, got 0", GroupNormalization({.groups = 0}));
  EXPECT_ERROR(InvalidArgument, "epsilon above 0, got 0", GroupNormalization({.epsilon = 0}));
  EXPECT_ERROR(InvalidArgument,
               "GroupNormalization needs a number of channels divisible by its 32 groups, got 48 in (2, 48)",
               shape_after(GroupNormalization(), {{2, 48}}));
  EXPECT_ERROR(InvalidArgument, "GroupNormalization needs different axes behind the batch axis, got (0) for (32)",
               shape_after(GroupNormalization({.axis = 0}), {{32}}));
  const GroupNormalization layer = built(GroupNormalization({.groups = 2}), {{4}});
  EXPECT_ERROR(InvalidArgument, "was built for 4 channels, got (6)", shape_after(layer, {{6}}));
}

/// Each row of x, divided by the root of the mean of its squares, times the scale, which is as long as a row.
Reference rms_normalized(double epsilon) {
  return [=](const std::vector<std::vector<double>>& in) {
    std::vector<double> y = in[0];
    const std::size_t n = in[1].size();
    for (std::size_t row = 0; row < y.size(); row += n) {
      double squares = 0;
      for (std::size_t i = row; i < row + n; ++i) squares += y[i] * y[i];
      for (std::size_t i = row; i < row + n; ++i)
        y[i] *= in[1][i - row] / std::sqrt(squares / static_cast<double>(n) + epsilon);
    }
    return y;
  };
}

TEST(RMSNormalization, DividesByTheRootOfTheMeanSquare) {
  const Tensor x = random_tensor({2, 3, 5}, 1, -1, 3);
  const auto expect_normalized = [&](const RMSNormalization& layer, double epsilon) {
    layer.impl().variables()[0].assign(random_tensor(weight(layer, 0).shape(), 2));
    check_gradients([&](std::span<const Tensor> in) { return call(layer, {in[0]}); }, rms_normalized(epsilon),
                    {x, weight(layer, 0)}, {.length = 15});
  };
  const RMSNormalization last = built(RMSNormalization({.epsilon = 0.01}), {{3, 5}});
  EXPECT_THAT(weights_of(last), testing::ElementsAre("layer/scale (5)"));
  expect_same_bits(weight(last, 0), Tensor::full({5}, 1));
  expect_normalized(last, 0.01);
  const RMSNormalization both = built(RMSNormalization({.axis = {1, -1}}), {{3, 5}});
  EXPECT_THAT(weights_of(both), testing::ElementsAre("layer/scale (3, 5)"));
  expect_normalized(both, 1e-6);
}

TEST(RMSNormalization, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "RMSNormalization needs an epsilon above 0, got 0", RMSNormalization({.epsilon = 0}));
  EXPECT_ERROR(InvalidArgument, "RMSNormalization needs the last axes, got (1) for (3, 5)",
               shape_after(RMSNormalization({.axis = {1}}), {{3, 5}}));
  const RMSNormalization layer = built(RMSNormalization(), {{4}});
  EXPECT_ERROR(InvalidArgument, "was built for features of (4), got (5)", shape_after(layer, {{5}}));
}

TEST(UnitNormalization, DividesByTheNorm) {
  const Tensor x = Tensor::from(std::vector<float>{3, 4, 0, 0, -8, 6}, {3, 2});
  const Tensor y = call(UnitNormalization(), {x});
  expect_close(y, {0.6, 0.8, 0, 0, -0.8, 0.6}, 2);
  const Tensor both = call(UnitNormalization({.axis = {1, 2}}), {x.view({1, 3, 2})});
  const double norm = std::sqrt(125);
  expect_close(both, {3 / norm, 4 / norm, 0, 0, -8 / norm, 6 / norm}, 6);
  EXPECT_ERROR(InvalidArgument, "UnitNormalization needs different axes behind the batch axis, got (2) for (3)",
               shape_after(UnitNormalization({.axis = {2}}), {{3}}));
}

// d y_0 = (dx_0 - y_0 (y . dx)) / norm; the norm of zeros is 1e-12.
TEST(UnitNormalization, HasAFiniteGradientAtZero) {
  const Tensor x = Tensor::from(std::vector<float>{3, 4, 0, 0}, {2, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = call(UnitNormalization(), {x});
  const Tensor gradient = tape.gradient(sum(slice(y, 1, 0, 1)), std::array{x}).front();
  EXPECT_THAT(gradient.to_vector<float>(),
              testing::ElementsAre(testing::FloatNear(0.128F, 1e-6F), testing::FloatNear(-0.096F, 1e-6F),
                                   testing::FloatEq(1e12F), 0));
}

}  // namespace
}  // namespace lockstep::test
