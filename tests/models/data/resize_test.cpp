#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/data/resize.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

std::vector<float> resized(const std::vector<float>& values, const Shape& shape, ImageSize size) {
  const Tensor result = resize_bilinear(Tensor::from(values, shape), size);
  EXPECT_EQ(result.shape(), (Shape{size.height, size.width, shape[2]}));
  return result.to_vector<float>();
}

// Expected values are those of tf.image.resize: output i lies at (i + 0.5) * from / to - 0.5.

TEST(ResizeBilinear, SamplesAtTheCentersOfPixels) {
  EXPECT_THAT(resized({0, 4}, {1, 2, 1}, {1, 4}), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(resized({0, 4}, {2, 1, 1}, {4, 1}), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(resized({0, 2, 4, 6}, {1, 4, 1}, {1, 2}), ElementsAre(1, 5));
  EXPECT_THAT(resized({0, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 9, 1}, {1, 3}), ElementsAre(1, 4, 7)) << "no antialiasing";
}

TEST(ResizeBilinear, MixesTheFourNeighbors) {
  EXPECT_THAT(resized({0, 8, 16, 32}, {2, 2, 1}, {1, 1}), ElementsAre(14));
  EXPECT_THAT(resized({0, 8, 16, 32}, {2, 2, 1}, {4, 4}),
              ElementsAre(0, 2, 6, 8, 4, 6.5, 11.5, 14, 12, 15.5, 22.5, 26, 16, 20, 28, 32));
}

TEST(ResizeBilinear, KeepsChannelsApart) {
  EXPECT_THAT(resized({0, 10, 20, 4, 50, 60}, {1, 2, 3}, {1, 4}),
              ElementsAre(0, 10, 20, 1, 20, 30, 3, 40, 50, 4, 50, 60));
}

TEST(ResizeBilinear, GivesFloatsOfBytesAndTheImageItselfAtItsSize) {
  const std::vector<std::uint8_t> bytes{1, 2, 3, 4, 5, 255};
  const Tensor image = resize_bilinear(Tensor::from(bytes, {2, 3, 1}), {2, 3});
  EXPECT_EQ(image.dtype(), DType::f32);
  EXPECT_THAT(image.to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 255));
}

TEST(ResizeBilinear, RefusesOtherImagesAndSizes) {
  EXPECT_THROW((void)resize_bilinear(Tensor(), {2, 2}), InvalidArgument);
  EXPECT_THROW((void)resize_bilinear(Tensor::zeros({2, 2}), {2, 2}), InvalidArgument);
  EXPECT_THROW((void)resize_bilinear(Tensor::zeros({2, 2, 2}), {2, 2}), InvalidArgument);
  EXPECT_THROW((void)resize_bilinear(Tensor::zeros({2, 0, 3}), {2, 2}), InvalidArgument);
  EXPECT_THROW((void)resize_bilinear(Tensor::zeros({2, 2, 3}, DType::i32), {2, 2}), InvalidArgument);
  EXPECT_THROW((void)resize_bilinear(Tensor::zeros({2, 2, 3}), {2, 0}), InvalidArgument);
  EXPECT_THROW((void)resize_bilinear(Tensor::zeros({2, 4, 3}).slice_view(1, 0, 2), {2, 2}), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
