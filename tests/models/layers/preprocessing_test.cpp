#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <support/replicas.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/preprocessing.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

/// formula(x, channel) for each element of `x`, whose last axis is the channels.
template <class Formula>
std::vector<float> by_channel(const Tensor& x, Formula&& formula) {
  std::vector<float> results;
  const auto channels = static_cast<std::size_t>(x.dim(-1));
  for (const float value : x.to_vector<float>())
    results.push_back(static_cast<float>(formula(static_cast<double>(value), results.size() % channels)));
  return results;
}

TEST(RescalingLayer, ScalesAndShifts) {
  const Tensor x = random_tensor({2, 3, 2}, 1);
  const Rescaling layer = built(Rescaling({.scale = {2}, .offset = {-1}}), {{3, 2}});
  EXPECT_EQ(call(layer, {x}).to_vector<float>(), by_channel(x, [](double v, std::size_t) { return v * 2 - 1; }));
  EXPECT_EQ(shape_after(layer, {{3, 2}}), (Shape{3, 2}));
  EXPECT_TRUE(layer.impl().traits().can_compute_in_bf16);
}

TEST(RescalingLayer, TakesANumberForEachChannel) {
  const Tensor x = random_tensor({2, 3, 2}, 1);
  const std::vector<double> scale{2, -0.5};
  const std::vector<double> offset{1, 4};
  const Rescaling layer = built(Rescaling({.scale = scale, .offset = offset}), {{3, 2}});
  EXPECT_EQ(call(layer, {x}).to_vector<float>(),
            by_channel(x, [&](double v, std::size_t c) { return v * scale[c] + offset[c]; }));
  EXPECT_TRUE(weights_of(layer).empty()) << "the numbers are options, not weights";
  EXPECT_ERROR(InvalidArgument, "Rescaling has 2 values for scale, got (3, 4)", shape_after(layer, {{3, 4}}));
}

TEST(RescalingLayer, RefusesNumbersThatAreMissingOrNotFinite) {
  EXPECT_ERROR(InvalidArgument, "Rescaling needs a scale and an offset", Rescaling({}));
  EXPECT_ERROR(InvalidArgument, "a scale and an offset that are finite", Rescaling({.scale = {INFINITY}}));
}

TEST(NormalizationLayer, SubtractsTheMeanAndDividesByTheDeviation) {
  const Tensor x = random_tensor({4, 3, 2}, 1);
  const std::vector<double> mean{0.5, -1};
  const std::vector<double> variance{4, 0.25};
  const Normalization layer = built(Normalization({.mean = mean, .variance = variance}), {{3, 2}});
  const auto expected = by_channel(x, [&](double v, std::size_t c) { return (v - mean[c]) / std::sqrt(variance[c]); });
  EXPECT_THAT(call(layer, {x}).to_vector<float>(), Pointwise(FloatNear(1e-6F), expected));
  const Normalization back = built(Normalization({.mean = mean, .variance = variance, .invert = true}), {{3, 2}});
  EXPECT_THAT(call(back, {call(layer, {x})}).to_vector<float>(), Pointwise(FloatNear(1e-6F), x.to_vector<float>()));
  EXPECT_TRUE(weights_of(layer).empty());
}

TEST(NormalizationLayer, TakesOneMeanForAllChannels) {
  const Tensor x = random_tensor({4, 2}, 1);
  const Normalization layer = built(Normalization({.mean = {3}, .variance = {4}}), {{2}});
  EXPECT_THAT(call(layer, {x}).to_vector<float>(),
              Pointwise(FloatNear(1e-6F), by_channel(x, [](double v, std::size_t) { return (v - 3) / 2; })));
}

TEST(NormalizationLayer, HasTheWeightsOfKerasFiles) {
  const Normalization layer = built(Normalization(), {{3, 2}});
  EXPECT_THAT(weights_of(layer), ElementsAre("layer/mean (2)", "layer/variance (2)", "layer/count ()"));
  for (const Variable& variable : layer.impl().variables()) EXPECT_FALSE(variable.trainable()) << variable.name();
  const Tensor x = random_tensor({4, 3, 2}, 1);
  expect_same_bits(call(layer, {x}), x);  // a mean of 0, a variance of 1
}

TEST(NormalizationLayer, DoesNotDivideByZero) {
  const Normalization layer = built(Normalization({.mean = {1}, .variance = {0}}), {{1}});
  EXPECT_FLOAT_EQ(call(layer, {Tensor::full({1, 1}, 2)}).item<float>(), 1e7F);
}

TEST(NormalizationLayer, AdaptsToDataBeforeAndAfterItIsBuilt) {
  const Tensor data = random_tensor({50, 3}, 1, -2, 6);
  std::vector<double> mean(3, 0);
  std::vector<double> variance(3, 0);
  by_channel(data, [&](double v, std::size_t c) { return mean[c] += v / 50; });
  by_channel(data, [&](double v, std::size_t c) { return variance[c] += (v - mean[c]) * (v - mean[c]) / 50; });
  const MirroredStrategy strategy = mirrored(2);
  for (const bool before : {true, false}) {
    const Normalization layer;
    if (before) layer.adapt(data);
    strategy.scope([&] { built(layer, {{3}}); });
    if (!before) layer.adapt(data);
    const auto results = strategy.run([&] { return call(layer, {data}); }).local_results();
    for (const Tensor& y : results)
      EXPECT_THAT(y.to_vector<float>(), Pointwise(FloatNear(1e-5F), by_channel(data, [&](double v, std::size_t c) {
                                                    return (v - mean[c]) / std::sqrt(variance[c]);
                                                  })));
    EXPECT_ERROR(InvalidArgument, "takes axes of the sizes (3), adapt() got data of (2)",
                 layer.adapt(Tensor::zeros({4, 2})));
  }
}

TEST(NormalizationLayer, RefusesWhatDoesNotFit) {
  EXPECT_ERROR(InvalidArgument, "as many means as variances, or neither, got 1 and 0", Normalization({.mean = {1}}));
  EXPECT_ERROR(InvalidArgument, "variances of at least 0", Normalization({.mean = {1}, .variance = {-1}}));
  EXPECT_ERROR(LogicError, "has the mean and variance given to its constructor",
               Normalization({.mean = {1}, .variance = {1}}).adapt(Tensor::zeros({4, 2})));
  const Normalization adapted;
  adapted.adapt(transpose(Tensor::zeros({2, 4})));
  EXPECT_ERROR(InvalidArgument, "takes axes of the sizes (3), adapt() got data of (2)", shape_after(adapted, {{3}}));
  const std::string needs_axes = "Normalization needs different axes behind the batch axis, got ";
  EXPECT_ERROR(InvalidArgument, needs_axes + "(-1) for ()", shape_after(Normalization(), {Shape{}}));
  EXPECT_ERROR(InvalidArgument, needs_axes + "(-1) for ()", Normalization().adapt(Tensor::zeros({4})));
  EXPECT_ERROR(InvalidArgument, needs_axes + "(0, 1) for (3)", shape_after(Normalization({.axis = {0, 1}}), {{3}}));
  EXPECT_ERROR(InvalidArgument, "has a mean of (3) for axes of the sizes (2), got (3, 2)",
               shape_after(Normalization({.mean = {1, 2, 3}, .variance = {1, 2, 3}}), {{3, 2}}));
  EXPECT_ERROR(InvalidArgument, "a shape of as many elements as there are means, got (2, 1) for 3",
               Normalization({.axis = {1, 2}, .mean = {1, 2, 3}, .variance = {1, 2, 3}, .shape = {2, 1}}));
  EXPECT_ERROR(InvalidArgument, "'layer' was built for axes of the sizes (2), got (3)",
               shape_after(built(Normalization(), {{2}}), {{3}}));
}

// As numpy.mean and numpy.var over the other axes.
TEST(NormalizationLayer, AdaptsToDataAlongItsAxes) {
  const Tensor data = random_tensor({5, 2, 3, 4}, 1, -2, 6);
  for (const std::vector<int>& axis : {std::vector{1}, {2}, {-1, 1}, {3, 2}, {1, 2, 3}, {}}) {
    const Normalization layer({.axis = axis});
    layer.adapt(data);
    built(layer, {{2, 3, 4}});
    std::vector<int> others{0};
    Shape kept;
    for (int i = 1; i < 4; ++i) {
      if (std::ranges::count(axis, i) + std::ranges::count(axis, i - 4) > 0)
        kept.push_back(data.dim(i));
      else
        others.push_back(i);
    }
    const Tensor mean = lockstep::mean(data, others, true);
    const Tensor variance = lockstep::mean(square(data - mean), others, true);
    EXPECT_EQ(weight(layer, 0).shape(), kept);
    EXPECT_THAT(weight(layer, 0).to_vector<float>(), Pointwise(FloatNear(1e-5F), mean.to_vector<float>()));
    EXPECT_THAT(weight(layer, 1).to_vector<float>(), Pointwise(FloatNear(1e-4F), variance.to_vector<float>()));
    EXPECT_THAT(call(layer, {data}).to_vector<float>(),
                Pointwise(FloatNear(1e-5F), ((data - mean) / sqrt(variance)).to_vector<float>()));
  }
}

// As in Keras, the mean's last axis is the last one of `axis`.
TEST(NormalizationLayer, BroadcastsTheMean) {
  const Tensor x = random_tensor({2, 3, 4, 2}, 1);
  const Normalization last = built(Normalization({.axis = {1, 3}, .mean = {1, 2}, .variance = {4, 4}}), {{3, 4, 2}});
  const Tensor of_last = Tensor::from<float>({1, 2}, {2});
  expect_same_bits(call(last, {x}), (x - of_last) / 2);
  const Normalization first =
      built(Normalization({.axis = {1, 3}, .mean = {1, 2, 3}, .variance = {4, 4, 4}, .shape = {3, 1}}), {{3, 4, 2}});
  const Tensor of_first = Tensor::from<float>({1, 2, 3}, {3, 1, 1});
  expect_same_bits(call(first, {x}), (x - of_first) / 2);
}

// The examples of Keras' documentation.
TEST(CategoryEncoding, EncodesIds) {
  const auto encoded = [](CategoryOutput mode, const std::vector<float>& ids, const Shape& shape) {
    return call(CategoryEncoding({.num_tokens = 4, .output_mode = mode}), {Tensor::from(ids, shape)});
  };
  const Tensor each = encoded(CategoryOutput::one_hot, {3, 2, 0, 1}, {4, 1});
  EXPECT_EQ(each.shape(), (Shape{4, 4}));
  EXPECT_THAT(each.to_vector<float>(), ElementsAre(0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0));
  const std::vector<float> pairs{0, 1, 0, 0, 1, 2, 3, 1};
  const Tensor present = encoded(CategoryOutput::multi_hot, pairs, {4, 2});
  EXPECT_EQ(present.shape(), (Shape{4, 4}));
  EXPECT_THAT(present.to_vector<float>(), ElementsAre(1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1));
  EXPECT_THAT(encoded(CategoryOutput::count, pairs, {4, 2}).to_vector<float>(),
              ElementsAre(1, 1, 0, 0, 2, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1));
  EXPECT_EQ(encoded(CategoryOutput::one_hot, pairs, {4, 2}).shape(), (Shape{4, 2, 4}));
  EXPECT_THAT(encoded(CategoryOutput::count, {4, -1}, {1, 2}).to_vector<float>(), ElementsAre(0, 0, 0, 0));
}

TEST(CategoryEncoding, CountsWeights) {
  const CategoryEncoding layer({.num_tokens = 4, .output_mode = CategoryOutput::count});
  const Tensor ids = Tensor::from<float>({0, 1, 0, 3, 5, 3}, {2, 3});
  const Tensor weights = Tensor::from<float>({0.5, 2, 0.25, 1, 7, -3}, {2, 3});
  EXPECT_THAT(call(layer, {ids, weights}).to_vector<float>(), ElementsAre(0.75, 2, 0, 0, 0, 0, 0, -2));
  EXPECT_THAT(call(layer, {ids, cast(ids, DType::i64)}).to_vector<float>(), ElementsAre(0, 1, 0, 0, 0, 0, 0, 6));
  const std::string refusal = "takes ids and, with the output_mode count, a weight for each of them, got (3) and ";
  EXPECT_ERROR(InvalidArgument, refusal + "(2)", shape_after(layer, {{3}, {2}}));
  EXPECT_ERROR(InvalidArgument, refusal + "(3)", shape_after(CategoryEncoding({.num_tokens = 4}), {{3}, {3}}));
}

TEST(CategoryEncoding, GivesKerasShapes) {
  const auto shape = [](CategoryOutput mode, const Shape& input) {
    return shape_after(CategoryEncoding({.num_tokens = 4, .output_mode = mode}), {input});
  };
  EXPECT_EQ(shape(CategoryOutput::one_hot, {1}), Shape{4});
  EXPECT_EQ(shape(CategoryOutput::one_hot, {3}), (Shape{3, 4}));
  EXPECT_EQ(shape(CategoryOutput::multi_hot, {3}), Shape{4});
  EXPECT_ERROR(InvalidArgument, "CategoryEncoding takes lists of ids (k), got (3, 4)",
               shape(CategoryOutput::count, {3, 4}));
  EXPECT_ERROR(InvalidArgument, "CategoryEncoding needs a num_tokens of at least 1, got 0", CategoryEncoding({}));
}

}  // namespace
}  // namespace lockstep::test
