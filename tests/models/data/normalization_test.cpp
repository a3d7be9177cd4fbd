#include <cmath>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/data/image_preparation.h>
#include <lockstep/models/data/normalization.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/runtime/thread/parallel.h>

#include "row_parts.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

/// Two images of 1 x 2 pixels with 2 channels: one is 0, 2, 4, 6, the other always 5.
const std::vector<std::uint8_t> values{0, 5, 2, 5, 4, 5, 6, 5};
const Shape shape{2, 1, 2, 2};

Tensor bytes() { return Tensor::from(values, shape); }
Tensor floats() { return Tensor::from(std::vector<float>(values.begin(), values.end()), shape); }

TEST(ChannelStatistics, AreMeanAndVarianceOfEachChannel) {
  for (const Tensor& images : {bytes(), floats()}) {
    const ChannelStatistics statistics = channel_statistics(images);
    EXPECT_THAT(statistics.mean.to_vector<float>(), ElementsAre(3, 5));
    EXPECT_THAT(statistics.variance.to_vector<float>(), ElementsAre(5, 0));
  }
  EXPECT_THROW((void)channel_statistics(Tensor()), InvalidArgument);
  EXPECT_THROW((void)channel_statistics(Tensor::zeros({0, 2})), InvalidArgument);
  EXPECT_THROW((void)channel_statistics(Tensor::zeros({2, 2}, DType::i64)), InvalidArgument);
}

TEST(ChannelNormalization, SubtractsTheMeanAndDividesByTheDeviation) {
  const auto normalize = channel_normalization(channel_statistics(bytes()));
  const float five = std::sqrt(5.0F);
  for (const Tensor& images : {bytes(), floats()}) {
    const Tensor y = Tensor::scalar(1.0F);
    const Example batch = normalize({{images}, {y}});
    EXPECT_EQ(batch.x().shape(), shape);
    EXPECT_EQ(batch.y().id(), y.id());
    EXPECT_THAT(batch.x().to_vector<float>(), ElementsAre(-3 / five, 0, -1 / five, 0, 1 / five, 0, 3 / five, 0));
  }
  EXPECT_THAT(normalize({{Tensor::from(std::vector<float>{3, 6}, {1, 1, 2})}}).x().to_vector<float>(),
              ElementsAre(0, 1 / 1e-7F))
      << "a channel without variance";
}

TEST(Rescaling, ScalesAndShiftsBytesAndFloatsAlike) {
  for (const Tensor& images : {bytes(), floats()}) {
    const Tensor y = Tensor::scalar(1.0F);
    const Example batch = rescaling({.scale = 0.5F, .offset = -1})({{images}, {y}});
    EXPECT_EQ(batch.x().shape(), shape);
    EXPECT_EQ(batch.y().id(), y.id());
    EXPECT_THAT(batch.x().to_vector<float>(), ElementsAre(-1, 1.5, 0, 1.5, 1, 1.5, 2, 1.5));
    EXPECT_EQ(rescaling({})({{images}}).x().to_vector<float>(), floats().to_vector<float>());
  }
  EXPECT_THROW((void)rescaling({.scale = std::nanf("")}), InvalidArgument);
  EXPECT_THROW((void)rescaling({})({{Tensor::zeros({2}, DType::i64)}}), InvalidArgument);
}

TEST(Normalizations, OfAPartOfTheRowsAreThatPart) {
  const Tensor x = test::random_tensor({23, 3, 2}, 1);
  const Dataset batches = Dataset::from_tensors(x, x).batch(9);
  test::expect_parts_like_the_whole(batches.map(channel_normalization(channel_statistics(x))));
  test::expect_parts_like_the_whole(batches.map(rescaling({.scale = 2, .offset = 1})));
  test::expect_parts_like_the_whole(batches.map(mean_subtraction(test::random_tensor({3, 2}, 2))));
}

TEST(ChannelNormalization, RefusesOtherChannels) {
  const auto normalize = channel_normalization(channel_statistics(bytes()));
  EXPECT_THROW((void)normalize({{Tensor::zeros({2, 2, 3})}}), InvalidArgument);
  EXPECT_THROW((void)normalize({{Tensor::zeros({2, 2}, DType::i32)}}), InvalidArgument);
  EXPECT_THROW((void)normalize({}), InvalidArgument);
  EXPECT_THROW((void)channel_normalization({Tensor::zeros({2}), Tensor::zeros({3})}), InvalidArgument);
  EXPECT_THROW((void)channel_normalization({Tensor::zeros({2})}), InvalidArgument);
}

TEST(MeanSubtraction, TakesTheMeanImageFromEachImage) {
  const Tensor mean = mean_image(bytes());
  ASSERT_EQ(mean.shape(), (Shape{1, 2, 2}));
  const auto scaled = [](double value) { return static_cast<float>(value / 255); };
  EXPECT_THAT(mean.to_vector<float>(), ElementsAre(scaled(2), scaled(5), scaled(4), scaled(5)));
  const auto subtract = mean_subtraction(mean);
  const std::vector<float> expected{0.0F - scaled(2),          0, 2.0F / 255.0F - scaled(4), 0,
                                    4.0F / 255.0F - scaled(2), 0, 6.0F / 255.0F - scaled(4), 0};
  EXPECT_EQ(subtract({{bytes()}}).x().to_vector<float>(), expected);
  EXPECT_EQ(subtract({{bytes().slice_view(0, 0, 1).view({1, 2, 2})}}).x().to_vector<float>(),
            std::vector<float>(expected.begin(), expected.begin() + 4))
      << "one image";
}

TEST(MeanSubtraction, EqualsImagePreparationOfGrayImages) {
  std::vector<std::uint8_t> pixels(7 * 5 * 4);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(37 * i);
  const Tensor images = Tensor::from(pixels, {7, 5, 4});
  const Tensor mean = mean_image(images);
  EXPECT_EQ(mean_subtraction(mean)({{images}}).x().to_vector<float>(),
            image_preparation({.mean = mean, .padding = 0, .channels = 1})({{images}}).x().to_vector<float>());
}

TEST(MeanSubtraction, LeavesFloatsInTheirUnits) {
  const auto subtract = mean_subtraction(Tensor::full({2}, 10));
  EXPECT_THAT(subtract({{Tensor::from(std::vector<float>{1, 2, 30, 40}, {2, 2})}}).x().to_vector<float>(),
              ElementsAre(-9, -8, 20, 30));
  EXPECT_EQ(subtract({{Tensor::zeros({0, 2})}}).x().shape(), (Shape{0, 2}));
}

TEST(MeanSubtraction, RefusesImagesUnlikeTheMean) {
  const auto subtract = mean_subtraction(Tensor::zeros({2, 2}));
  EXPECT_THROW((void)subtract({{Tensor::zeros({2, 3})}}), InvalidArgument);
  EXPECT_THROW((void)subtract({{Tensor::zeros({1, 1, 2, 2})}}), InvalidArgument);
  EXPECT_THROW((void)subtract({}), InvalidArgument);
  EXPECT_THROW((void)mean_subtraction(Tensor()), InvalidArgument);
  EXPECT_THROW((void)mean_subtraction(bytes()), InvalidArgument);
}

TEST(Normalization, IsTheSameOnAnyNumberOfThreads) {
  std::vector<float> many(60'000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = std::sin(static_cast<float>(i));
  const Tensor x = Tensor::from(many, {200, 10, 10, 3});
  const auto normalize = channel_normalization(channel_statistics(x));
  const std::vector<float> all_cores = normalize({{x}}).x().to_vector<float>();
  for (const int threads : {1, 3}) {
    const ComputeThreadsScope share(threads);
    EXPECT_EQ(normalize({{x}}).x().to_vector<float>(), all_cores);
  }
}

TEST(Normalization, StaysInHostMemoryInADeviceScopeOfAGpu) {
  const Tensor images = bytes();
  const DeviceScope there(LogicalDevice{DeviceKind::gpu, 0});
  const float five = std::sqrt(5.0F);
  EXPECT_THAT(channel_normalization(channel_statistics(images))({{images}}).x().to_vector<float>(),
              ElementsAre(-3 / five, 0, -1 / five, 0, 1 / five, 0, 3 / five, 0));
}

}  // namespace
}  // namespace lockstep
