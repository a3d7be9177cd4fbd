#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/data/image_augmentation.h>
#include <lockstep/runtime/thread/parallel.h>

#include "row_parts.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// An image with the values 1, 2, ... in row-major order.
template <class T = float>
Example image(const Shape& shape) {
  std::vector<T> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), T{1});
  return {{Tensor::from(values, shape)}, {Tensor::scalar<std::int32_t>(3)}};
}

/// `count` copies of an image as a data set.
Dataset copies(const Example& one, std::int64_t count) {
  return Dataset::from_tensors(Tensor::zeros({count})).map([one](const Example&) { return one; });
}

std::vector<std::vector<float>> read(const Dataset& set, std::uint64_t epoch = 0) {
  std::vector<std::vector<float>> values;
  for (const Example& example : set.epoch(epoch)) values.push_back(example.x().to_vector<float>());
  return values;
}

TEST(ImageAugmentation, DrawsTheSameForAPartOfABatch) {
  const Dataset set = Dataset::from_tensors(test::random_tensor({23, 6, 5}, 1), Tensor::zeros({23})).shuffle();
  test::expect_parts_like_the_whole(
      set.map(image_augmentation({.width_shift_range = 0.3, .horizontal_flip = true})).repeat(2).batch(9));
  test::expect_parts_like_the_whole(set.map(random_crop({.size = {3, 3}, .padding = 1})).batch(9).repeat(2));
}

TEST(ImageAugmentation, FlipsHalfOfTheImages) {
  for (const Shape& shape : {Shape{2, 2}, Shape{2, 2, 1}}) {
    const Dataset set = copies(image(shape), 400).map(image_augmentation({.horizontal_flip = true}));
    std::int64_t flipped = 0;
    for (const std::vector<float>& values : read(set)) {
      if (values[0] == 2) {
        ++flipped;
        EXPECT_THAT(values, ElementsAre(2, 1, 4, 3));
      } else {
        EXPECT_THAT(values, ElementsAre(1, 2, 3, 4));
      }
    }
    EXPECT_NEAR(static_cast<double>(flipped), 200, 60) << "six standard deviations";
  }
}

TEST(ImageAugmentation, FlipsEachWayForItself) {
  const Dataset set =
      copies(image({2, 2, 1}), 100).map(image_augmentation({.horizontal_flip = true, .vertical_flip = true}));
  const auto all = read(set);
  const std::set<std::vector<float>> kinds(all.begin(), all.end());
  EXPECT_THAT(kinds, testing::UnorderedElementsAre(ElementsAre(1, 2, 3, 4), ElementsAre(2, 1, 4, 3),
                                                   ElementsAre(3, 4, 1, 2), ElementsAre(4, 3, 2, 1)));
}

TEST(ImageAugmentation, KeepsChannelsTogetherAndLabelsAndDtypes) {
  const Dataset set = copies(image<std::uint8_t>({1, 2, 3}), 20).map(image_augmentation({.horizontal_flip = true}));
  for (const Example& example : set.epoch()) {
    EXPECT_EQ(example.x().dtype(), DType::u8);
    EXPECT_EQ(example.y().item<std::int32_t>(), 3);
    EXPECT_THAT(example.x().to_vector<int>(),
                testing::AnyOf(ElementsAre(1, 2, 3, 4, 5, 6), ElementsAre(4, 5, 6, 1, 2, 3)));
  }
}

/// A ramp of n pixels with the values 0, 1, ..., which makes a shift measurable.
Example ramp(std::int64_t n, bool down) {
  std::vector<float> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0.0F);
  return {{Tensor::from(values, down ? Shape{n, 1} : Shape{1, n})}};
}

class ImageShift : public testing::TestWithParam<bool> {
 protected:
  /// Checks for shifts of at most `range` along the parameter's axis.
  std::vector<std::vector<float>> shifted(double range, FillMode mode) const {
    ImageAugmentation options{.fill_mode = mode, .cval = -1};
    (GetParam() ? options.height_shift_range : options.width_shift_range) = range;
    return read(copies(ramp(20, GetParam()), 200).map(image_augmentation(options)));
  }
};

TEST_P(ImageShift, IsUniformWithinTheRange) {
  for (const double range : {0.25, 5.0}) {  // a quarter of 20 pixels is 5 pixels
    double least = 0;
    double most = 0;
    for (const std::vector<float>& values : shifted(range, FillMode::nearest)) {
      const double by = values[10] - 10;
      least = std::min(least, by);
      most = std::max(most, by);
      for (int i = 5; i < 15; ++i) EXPECT_NEAR(values[i], i + by, 1e-5) << "interpolated linearly";
    }
    EXPECT_GE(least, -5);
    EXPECT_LE(most, 5);
    EXPECT_LT(least, -4.5) << "of 200, one is this far but with a chance of 0.95^200";
    EXPECT_GT(most, 4.5);
  }
}

TEST_P(ImageShift, FillsWithTheNearestPixel) {
  for (const std::vector<float>& values : shifted(5, FillMode::nearest)) {
    const float by = values[10] - 10;
    EXPECT_EQ(by > 0 ? values[19] : values[0], by > 0 ? 19 : 0);
  }
}

TEST_P(ImageShift, FillsWithAConstant) {
  for (const std::vector<float>& values : shifted(5, FillMode::constant)) {
    const float by = values[10] - 10;
    for (int i = 0; i < 20; ++i) {
      const bool outside = static_cast<float>(i) + by < 0 || static_cast<float>(i) + by > 19;
      EXPECT_NEAR(values[i], outside ? -1 : static_cast<float>(i) + by, 1e-5);
    }
  }
}

TEST_P(ImageShift, FillsWithRepetitions) {
  for (const std::vector<float>& values : shifted(5, FillMode::wrap)) {
    const float by = values[10] - 10;
    for (int i = 0; i < 20; ++i) {
      const float at = std::fmod(static_cast<float>(i) + by + 20, 20.0F);
      EXPECT_NEAR(values[i], at <= 19 ? at : 19 * (20 - at), 1e-4) << i << " shifted by " << by;
    }
  }
}

TEST_P(ImageShift, FillsWithReflections) {
  for (const std::vector<float>& values : shifted(5, FillMode::reflect)) {
    const float by = values[10] - 10;
    for (int i = 0; i < 20; ++i) {
      const float at = static_cast<float>(i) + by;
      // cba|abcd|dcb: values are equal on both sides of the border, so that interpolation is flat for half a pixel.
      const float mirrored = at < 0 ? std::max(0.0F, -at - 1) : at > 19 ? std::min(19.0F, 39 - at) : at;
      EXPECT_NEAR(values[i], mirrored, 1e-5) << i << " shifted by " << by;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Down, ImageShift, testing::Bool());

TEST(ImageAugmentation, DependsOnSeedEpochAndNumberAlone) {
  const auto set = [](std::uint64_t seed) {
    return copies(image({6, 6, 3}), 30)
        .map(image_augmentation({.width_shift_range = 0.3, .horizontal_flip = true, .seed = seed}))
        .map(random_crop({.size = {6, 6}, .padding = 2, .seed = seed}));
  };
  const auto first = read(set(1), 4);
  for (const int threads : {1, 2, 5}) {
    const ComputeThreadsScope share(threads);
    EXPECT_EQ(read(set(1), 4), first);
  }
  EXPECT_NE(read(set(1), 5), first) << "another epoch";
  EXPECT_NE(read(set(2), 4), first) << "another seed";
  EXPECT_NE(first[0], first[1]) << "another element";
}

TEST(ImageAugmentation, AnOptionDoesNotChangeTheOthersNumbers) {
  const auto flips = [](double range) {
    std::vector<bool> mirrored;
    for (const auto& values : read(copies(ramp(20, false), 50)
                                       .map(image_augmentation({.width_shift_range = range, .horizontal_flip = true}))))
      mirrored.push_back(values[0] > values[19]);
    return mirrored;
  };
  EXPECT_EQ(flips(0), flips(0.2));
}

TEST(ImageAugmentation, RefusesRangesAndImagesThatItCannotUse) {
  EXPECT_THROW((void)image_augmentation({.width_shift_range = -0.1}), InvalidArgument);
  for (const double range : {1e19, 0x1p24, HUGE_VAL, std::nan("")}) {
    EXPECT_THROW((void)image_augmentation({.width_shift_range = range}), InvalidArgument) << range;
    EXPECT_THROW((void)image_augmentation({.height_shift_range = range}), InvalidArgument) << range;
  }
  for (const double cval : {std::nan(""), 1e39, -HUGE_VAL})
    EXPECT_THROW((void)image_augmentation({.cval = cval}), InvalidArgument) << cval;
  const auto transform = image_augmentation({.horizontal_flip = true});
  EXPECT_THAT([&] { (void)transform(image({2, 4, 4, 3}), {}); }, ThrowsMessage<InvalidArgument>(HasSubstr("batch()")));
  EXPECT_THROW((void)transform({{Tensor::zeros({2, 2}, DType::i32)}}, {}), InvalidArgument);
  EXPECT_THROW((void)transform({{Tensor::zeros({2, 0})}}, {}), InvalidArgument);
  EXPECT_THROW((void)transform({}, {}), InvalidArgument);
}

/// A data set of images whose mask, of whole numbers, has the same values.
template <class Mask>
Dataset with_masks(std::int64_t height, std::int64_t width, std::int64_t count) {
  return copies({{image<float>({height, width, 1}).x()}, {image<Mask>({height, width}).x()}}, count);
}

template <class Mask>
class MaskAugmentation : public testing::Test {};
using MaskTypes = testing::Types<std::uint8_t, std::int32_t>;
TYPED_TEST_SUITE(MaskAugmentation, MaskTypes);

TYPED_TEST(MaskAugmentation, FlipsAndCropsTheMaskWithItsImage) {
  const Dataset set = with_masks<TypeParam>(3, 4, 50)
                          .map(image_augmentation({.horizontal_flip = true, .vertical_flip = true, .mask = true}))
                          .map(random_crop({.size = {2, 3}, .padding = 1, .cval = 77, .mask = true, .mask_cval = 77}));
  std::set<std::vector<float>> kinds;
  for (const Example& example : set.epoch()) {
    EXPECT_EQ(example.x().shape(), (Shape{2, 3, 1}));
    EXPECT_EQ(example.y().shape(), (Shape{2, 3}));
    EXPECT_EQ(example.y().dtype(), dtype_of<TypeParam>);
    kinds.insert(example.x().template to_vector<float>());
    EXPECT_EQ(example.y().template to_vector<float>(), example.x().template to_vector<float>());
  }
  EXPECT_GT(kinds.size(), 20U);
}

TYPED_TEST(MaskAugmentation, ShiftsTheMaskByTheNearestWholePixels) {
  const Dataset set =
      with_masks<TypeParam>(1, 20, 100).map(image_augmentation({.width_shift_range = 5, .mask = true, .mask_cval = 9}));
  std::set<int> shifts;
  for (const Example& example : set.epoch()) {
    const float by = example.x().template to_vector<float>()[10] - 11;
    const int whole = static_cast<int>(std::floor(by + 0.5F));
    const std::vector<int> mask = example.y().template to_vector<int>();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(mask[static_cast<std::size_t>(i)], std::clamp(i + whole, 0, 19) + 1);
    shifts.insert(whole);
  }
  EXPECT_GT(shifts.size(), 5U);
}

TEST(ImageAugmentation, FillsMasksWithAClassOfTheirOwn) {
  const ImageAugmentation options{
      .width_shift_range = 5, .fill_mode = FillMode::constant, .cval = 0.5, .mask = true, .mask_cval = 255};
  for (const Example& example : with_masks<std::uint8_t>(1, 20, 50).map(image_augmentation(options)).epoch())
    for (const int value : example.y().to_vector<int>()) EXPECT_TRUE((value >= 1 && value <= 20) || value == 255);
}

TEST(ImageAugmentation, AMaskDoesNotChangeTheImage) {
  const auto images = [](bool mask) {
    return read(with_masks<std::uint8_t>(5, 5, 20)
                    .map(image_augmentation({.width_shift_range = 0.3, .horizontal_flip = true, .mask = mask}))
                    .map(random_crop({.size = {4, 4}, .padding = 1, .mask = mask})));
  };
  EXPECT_EQ(images(true), images(false));
}

TEST(ImageAugmentation, RefusesMasksThatItCannotUse) {
  const Tensor x = Tensor::zeros({2, 3, 1});
  for (const auto& transform : {image_augmentation({.mask = true}), random_crop({.size = {1, 1}, .mask = true})})
    for (const Tensor& mask : {Tensor(), Tensor::zeros({2, 3}), Tensor::zeros({3, 2}, DType::u8),
                               Tensor::zeros({2, 2}, DType::u8), Tensor::zeros({2}, DType::i32)}) {
      const Example example{{x}, mask.defined() ? std::vector<Tensor>{mask} : std::vector<Tensor>{}};
      EXPECT_THAT([&] { (void)transform(example, {}); },
                  ThrowsMessage<InvalidArgument>(HasSubstr("must be u8 or i32 of the same height and width")));
    }
}

TEST(RandomCrop, GivesEveryPartOfThePaddedImage) {
  const Dataset set = copies(image({1, 2}), 200).map(random_crop({.size = {1, 2}, .padding = 1, .cval = 9}));
  const auto all = read(set);
  const std::set<std::vector<float>> kinds(all.begin(), all.end());
  // Above and below the row all values are constant.
  EXPECT_THAT(
      kinds, testing::UnorderedElementsAre(ElementsAre(9, 1), ElementsAre(1, 2), ElementsAre(2, 9), ElementsAre(9, 9)));
}

TEST(RandomCrop, MayFillInOtherWays) {
  const Dataset set =
      copies(image({1, 2}), 200).map(random_crop({.size = {1, 2}, .padding = 1, .fill_mode = FillMode::nearest}));
  const auto all = read(set);
  EXPECT_THAT(std::set<std::vector<float>>(all.begin(), all.end()),
              testing::UnorderedElementsAre(ElementsAre(1, 1), ElementsAre(1, 2), ElementsAre(2, 2)));
}

TEST(RandomCrop, MakesImagesSmaller) {
  const auto all = read(copies(image({3, 3, 1}), 100).map(random_crop({.size = {2, 3}})));
  EXPECT_THAT(std::set<std::vector<float>>(all.begin(), all.end()),
              testing::UnorderedElementsAre(ElementsAre(1, 2, 3, 4, 5, 6), ElementsAre(4, 5, 6, 7, 8, 9)));
}

TEST(RandomCrop, RefusesWhatDoesNotFit) {
  EXPECT_THROW((void)random_crop({.size = {0, 3}}), InvalidArgument);
  for (const std::int64_t padding : {std::int64_t{-1}, std::int64_t{1} << 24, std::int64_t{1} << 62})
    EXPECT_THROW((void)random_crop({.size = {3, 3}, .padding = padding}), InvalidArgument) << padding;
  for (const double cval : {HUGE_VAL, -1e39})
    EXPECT_THROW((void)random_crop({.size = {3, 3}, .cval = cval}), InvalidArgument) << cval;
  const auto crop = random_crop({.size = {5, 3}, .padding = 1});
  EXPECT_EQ(crop(image({3, 3}), {}).x().shape(), (Shape{5, 3}));
  EXPECT_THAT([&] { (void)crop(image({2, 3}), {}); }, ThrowsMessage<InvalidArgument>(HasSubstr("5 x 3")));
}

}  // namespace
}  // namespace lockstep
