#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/data/image_preparation.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/runtime/thread/parallel.h>

#include "row_parts.h"

namespace lockstep {
namespace {

/// n images of height x width in which neighboring pixels differ.
Tensor images(std::int64_t n, std::int64_t height, std::int64_t width) {
  std::vector<std::uint8_t> values;
  for (std::int64_t i = 0; i < n * height * width; ++i) values.push_back(static_cast<std::uint8_t>(i * 37 % 256));
  return Tensor::from(values, {n, height, width});
}

TEST(MeanImage, IsTheMeanOfEachPixelScaledToOne) {
  const Tensor mean = mean_image(Tensor::from(std::vector<std::uint8_t>{0, 255, 51, 255}, {2, 1, 2}));
  EXPECT_EQ(mean.shape(), (Shape{1, 2}));
  EXPECT_THAT(mean.to_vector<float>(), testing::ElementsAre(static_cast<float>(51 / 510.0), 1.0F));
}

TEST(MeanImage, IsTheSameOnAnyNumberOfThreads) {
  const Tensor set = images(1001, 28, 28);
  const std::vector<float> all_cores = mean_image(set).to_vector<float>();
  for (const int threads : {1, 2, 3, 7}) {
    const ComputeThreadsScope share(threads);
    EXPECT_EQ(mean_image(set).to_vector<float>(), all_cores);
  }
}

TEST(MeanImage, NeedsImagesOfBytes) {
  EXPECT_THROW((void)mean_image(Tensor()), InvalidArgument);
  EXPECT_THROW((void)mean_image(Tensor::zeros({0, 2, 2}, DType::u8)), InvalidArgument);
  EXPECT_THROW((void)mean_image(Tensor::zeros({2, 2}, DType::u8)), InvalidArgument);
  EXPECT_THROW((void)mean_image(Tensor::zeros({2, 2, 2})), InvalidArgument);
}

class ImagePreparationOf : public testing::TestWithParam<int> {};

TEST_P(ImagePreparationOf, PadsScalesAndSubtractsTheMean) {
  constexpr std::int64_t count = 50;
  constexpr std::int64_t height = 4;
  constexpr std::int64_t width = 3;
  constexpr std::int64_t padding = 2;
  const std::int64_t channels = GetParam();
  const Tensor x = images(count, height, width);
  const Tensor mean = mean_image(x);
  const Tensor y = Tensor::zeros({count}, DType::u8);
  const Example batch = image_preparation({.mean = mean, .padding = padding, .channels = channels})({{x}, {y}});
  ASSERT_EQ(batch.x().shape(), (Shape{count, height + 2 * padding, width + 2 * padding, channels}));
  EXPECT_EQ(batch.y().id(), y.id());
  const float* found = batch.x().data<float>();
  for (std::int64_t image = 0; image < count; ++image)
    for (std::int64_t row = -padding; row < height + padding; ++row)
      for (std::int64_t column = -padding; column < width + padding; ++column)
        for (std::int64_t channel = 0; channel < channels; ++channel) {
          const bool inside = row >= 0 && row < height && column >= 0 && column < width;
          const std::int64_t pixel = row * width + column;
          const float expected =
              inside ? static_cast<float>(x.data<std::uint8_t>()[image * height * width + pixel]) / 255.0F -
                           mean.data<float>()[pixel]
                     : 0.0F;
          ASSERT_EQ(*found++, expected) << image << " " << row << " " << column << " " << channel;
        }
}

INSTANTIATE_TEST_SUITE_P(Channels, ImagePreparationOf, testing::Values(1, 2, 3));

TEST(ImagePreparation, TurnsFashionMnistIntoWhatMiniGoogLeNetReads) {
  const Tensor x = images(7, 28, 28);
  const Dataset set =
      Dataset::from_tensors(x, Tensor::zeros({7}, DType::u8)).batch(4).map(image_preparation({.mean = mean_image(x)}));
  std::vector<Shape> shapes;
  for (const Batch& batch : set.epoch()) shapes.push_back(batch.x().shape());
  EXPECT_EQ(shapes, (std::vector<Shape>{{4, 32, 32, 3}, {3, 32, 32, 3}}));
}

TEST(ImagePreparation, OfAPartOfTheRowsIsThatPart) {
  const Tensor x = images(23, 5, 3);
  test::expect_parts_like_the_whole(Dataset::from_tensors(x, Tensor::zeros({23}))
                                        .batch(9)
                                        .map(image_preparation({.mean = mean_image(x)}))
                                        .prefetch());
}

TEST(ImagePreparation, RejectsOptionsThatMakeNoSense) {
  const Tensor mean = Tensor::zeros({28, 28});
  EXPECT_THROW((void)image_preparation({}), InvalidArgument);
  EXPECT_THROW((void)image_preparation({.mean = Tensor::zeros({28})}), InvalidArgument);
  EXPECT_THROW((void)image_preparation({.mean = mean, .padding = -1}), InvalidArgument);
  EXPECT_THROW((void)image_preparation({.mean = mean, .channels = 0}), InvalidArgument);
}

TEST(ImagePreparation, RejectsImagesUnlikeTheMean) {
  const auto prepare = image_preparation({.mean = Tensor::zeros({28, 28})});
  EXPECT_THROW((void)prepare({{images(2, 28, 27)}}), InvalidArgument);
  EXPECT_THROW((void)prepare({{Tensor::zeros({2, 28, 28})}}), InvalidArgument);
  EXPECT_THROW((void)prepare({}), InvalidArgument);
}

TEST(ImagePreparation, StaysInHostMemoryInADeviceScopeOfAGpu) {
  const Tensor x = Tensor::from(std::vector<std::uint8_t>{0, 255}, {2, 1, 1});
  const DeviceScope there(LogicalDevice{DeviceKind::gpu, 0});
  const RowTransform prepare = image_preparation({.mean = mean_image(x), .padding = 0, .channels = 1});
  EXPECT_THAT(prepare({{x}}).x().to_vector<float>(), testing::ElementsAre(-0.5F, 0.5F));
}

}  // namespace
}  // namespace lockstep
