#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/data/label_preparation.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/runtime/thread/parallel.h>

#include "row_parts.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(OneHot, IsOneAtTheLabel) {
  const auto encode = one_hot(3);
  const Tensor x = Tensor::zeros({2});
  for (const Tensor& labels :
       {Tensor::from(std::vector<std::uint8_t>{2, 0}, {2}), Tensor::from(std::vector<std::int32_t>{2, 0}, {2}),
        Tensor::from(std::vector<std::int64_t>{2, 0}, {2})}) {
    const Example batch = encode({{x}, {labels}});
    EXPECT_EQ(batch.y().shape(), (Shape{2, 3}));
    EXPECT_THAT(batch.y().to_vector<float>(), ElementsAre(0, 0, 1, 1, 0, 0));
    EXPECT_EQ(batch.x().id(), x.id());
  }
  EXPECT_EQ(encode({{x}, {Tensor::scalar<std::int32_t>(1)}}).y().shape(), Shape{3}) << "of one example";
}

TEST(OneHot, OfAPartOfTheRowsIsThatPart) {
  const Tensor labels = Tensor::from(std::vector<std::int32_t>{2, 0, 1, 1, 2}, {5});
  test::expect_parts_like_the_whole(Dataset::from_tensors(labels, labels).batch(3).map(one_hot(3)));
}

TEST(OneHot, RefusesOtherLabels) {
  EXPECT_THROW((void)one_hot(0), InvalidArgument);
  EXPECT_THROW((void)one_hot(3)({{Tensor::zeros({1})}, {Tensor::zeros({1})}}), InvalidArgument);
  EXPECT_THROW((void)one_hot(3)({{Tensor::zeros({1})}}), InvalidArgument);
  for (const std::int32_t label : {-1, 3})
    EXPECT_THAT(
        [&] {
          (void)one_hot(3)({{}, {Tensor::scalar(label)}});
        },
        ThrowsMessage<InputError>(HasSubstr(std::to_string(label) + " is not in 0 to 2")));
}

/// A batch whose row i is (i, 10 i), labeled with class i.
Example numbered(std::int64_t rows) {
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (std::int32_t i = 0; i < rows; ++i) {
    x.insert(x.end(), {static_cast<float>(i), static_cast<float>(10 * i)});
    labels.push_back(i);
  }
  return one_hot(rows)({{Tensor::from(x, {rows, 2})}, {Tensor::from(labels, {rows})}});
}

TEST(Mixup, MixesRowsAndLabelsWithOneLambda) {
  constexpr std::int64_t rows = 6;
  const auto transform = mixup({.alpha = 1});
  for (std::int64_t number = 0; number < 20; ++number) {
    const Example batch = transform(numbered(rows), {.epoch = 2, .number = number});
    ASSERT_EQ(batch.x().shape(), (Shape{rows, 2}));
    ASSERT_EQ(batch.y().shape(), (Shape{rows, rows}));
    std::vector<double> column_sums(rows, 0);
    for (std::int64_t row = 0; row < rows; ++row) {
      double expected = 0;
      for (std::int64_t c = 0; c < rows; ++c) {
        const double share = batch.y().data<float>()[row * rows + c];
        expected += share * static_cast<double>(c);
        column_sums[static_cast<std::size_t>(c)] += share;
      }
      EXPECT_NEAR(batch.x().data<float>()[row * 2], expected, 1e-5);
      EXPECT_NEAR(batch.x().data<float>()[row * 2 + 1], 10 * expected, 1e-4);
    }
    EXPECT_THAT(column_sums, testing::Each(testing::DoubleNear(1, 1e-6))) << "the other rows are a permutation";
  }
}

/// The values of lambda of many batches.
std::vector<double> lambdas(double alpha) {
  constexpr std::int64_t rows = 8;
  const auto transform = mixup({.alpha = alpha, .seed = 7});
  const Example batch = numbered(rows);
  std::vector<double> values;
  for (std::int64_t number = 0; number < 4000; ++number) {
    const Tensor labels = transform(batch, {.number = number}).y();
    double lambda = 1;  // the weight of the row itself, unless the permutation maps it to itself
    for (std::int64_t row = 0; row < rows; ++row)
      lambda = std::min<double>(lambda, labels.data<float>()[row * rows + row]);
    values.push_back(lambda);
  }
  return values;
}

TEST(Mixup, DrawsLambdaFromTheBetaDistribution) {
  for (const double alpha : {1e-308, 0.2, 1.0, 4.0}) {
    const std::vector<double> values = lambdas(alpha);
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double variance = 0;
    for (const double value : values) variance += (value - mean) * (value - mean) / count;
    const double expected = 1 / (4 * (2 * alpha + 1));  // variance of Beta(alpha, alpha)
    const double deviations = 6 / std::sqrt(count);
    EXPECT_NEAR(mean, 0.5, deviations * std::sqrt(expected));
    EXPECT_NEAR(variance, expected, deviations * 0.125) << "squares within 0..1/4 deviate by 1/8 at most";
  }
}

TEST(Mixup, DependsOnSeedEpochAndNumberAlone) {
  const auto mixed = [](std::uint64_t seed, ElementId id) {
    return mixup({.alpha = 1, .seed = seed})(numbered(8), id).x().to_vector<float>();
  };
  const std::vector<float> first = mixed(1, {2, 3});
  for (const int threads : {1, 3}) {
    const ComputeThreadsScope share(threads);
    EXPECT_EQ(mixed(1, {2, 3}), first);
  }
  EXPECT_NE(mixed(2, {2, 3}), first);
  EXPECT_NE(mixed(1, {1, 3}), first);
  EXPECT_NE(mixed(1, {2, 4}), first);
}

TEST(Mixup, RefusesOtherBatches) {
  EXPECT_THROW((void)mixup({.alpha = 0}), InvalidArgument);
  EXPECT_THROW((void)mixup({.alpha = 5}), InvalidArgument);
  const Tensor x = Tensor::zeros({2, 3});
  EXPECT_THAT(
      [&] {
        (void)mixup()({{x}, {Tensor::zeros({2}, DType::i32)}}, {});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("one_hot()")));
  EXPECT_THROW((void)mixup()({{x}}, {}), InvalidArgument);
  EXPECT_THROW((void)mixup()({{x}, {Tensor::zeros({3})}}, {}), InvalidArgument);
  EXPECT_EQ(mixup()({{Tensor::zeros({0, 3})}, {Tensor::zeros({0})}}, {}).x().shape(), (Shape{0, 3}));
}

TEST(LabelPreparation, StaysInHostMemoryInADeviceScopeOfAGpu) {
  const Tensor labels = Tensor::from(std::vector<std::int32_t>{1, 1}, {2});
  const Tensor x = Tensor::full({2}, 3);
  const DeviceScope there(LogicalDevice{DeviceKind::gpu, 0});
  const Example encoded = one_hot(2)({{x}, {labels}});
  EXPECT_THAT(encoded.y().to_vector<float>(), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(mixup()(encoded, {}).y().to_vector<float>(), ElementsAre(0, 1, 0, 1));
}

}  // namespace
}  // namespace lockstep
