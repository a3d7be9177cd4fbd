#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/thread/parallel.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(DatasetWindow, CombinesConsecutiveElements) {
  const Dataset set = numbers(7).window(3);
  EXPECT_THAT(read(set), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(test::batch_sizes(set), ElementsAre(3, 3, 1));
  EXPECT_EQ(set.epoch().next()->y().shape(), Shape{3});
  EXPECT_THAT(test::batch_sizes(numbers(7).window(3, {.drop_remainder = true})), ElementsAre(3, 3));
}

/// The examples of tf.data's documentation of window.
TEST(DatasetWindow, ShiftsAndStrides) {
  const Dataset shifted = numbers(7).window(3, {.shift = 1, .drop_remainder = true});
  EXPECT_THAT(read(shifted), ElementsAre(0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6));
  const Dataset strided = numbers(7).window(3, {.shift = 1, .stride = 2, .drop_remainder = true});
  EXPECT_THAT(read(strided), ElementsAre(0, 2, 4, 1, 3, 5, 2, 4, 6));
}

TEST(DatasetWindow, AtTheEndHasWhatThereIs) {
  EXPECT_THAT(read(numbers(5).window(3, {.shift = 2})), ElementsAre(0, 1, 2, 2, 3, 4, 4));
  EXPECT_THAT(test::batch_sizes(numbers(5).window(2, {.shift = 1, .stride = 3})), ElementsAre(2, 2, 1, 1, 1));
  EXPECT_THAT(read(numbers(8).window(2, {.shift = 3})), ElementsAre(0, 1, 3, 4, 6, 7));
  EXPECT_THAT(read(numbers(7).window(2, {.shift = 3})), ElementsAre(0, 1, 3, 4, 6));
  EXPECT_THAT(read(numbers(0).window(2)), IsEmpty());
}

TEST(DatasetWindow, KnowsHowManyThereAre) {
  for (const std::int64_t n : {0, 1, 4, 5, 9})
    for (const std::int64_t shift : {1, 2, 4})
      for (const std::int64_t stride : {1, 3})
        for (const bool drop : {false, true}) {
          const Dataset set = numbers(n).window(3, {.shift = shift, .stride = stride, .drop_remainder = drop});
          EXPECT_EQ(set.size(), static_cast<std::int64_t>(test::batch_sizes(set).size()));
        }
  EXPECT_EQ(numbers(4).filter([](const Example&) { return true; }).window(2).size(), std::nullopt);
  EXPECT_TRUE(numbers(4).repeat().window(2).is_endless());
}

TEST(DatasetWindow, DoesNotMakeElementsThatAreSkipped) {
  int made = 0;
  const auto count = [&](const Example& e) {
    ++made;
    return e;
  };
  const ComputeThreadsScope one(1);
  EXPECT_THAT(read(numbers(30).map(count).window(2, {.shift = 3}).skip(7).take(2)), ElementsAre(21, 22, 24, 25));
  EXPECT_EQ(made, 4);
}

TEST(DatasetWindow, OfABillionElementsAtTheEndSkipsThemAll) {
  constexpr std::int64_t far = std::int64_t{1} << 62;
  EXPECT_THAT(read(numbers(3).window(1, {.shift = far})), ElementsAre(0));
  EXPECT_THAT(read(numbers(3).repeat().window(1, {.shift = far}).skip(5).take(0)), IsEmpty());
}

TEST(DatasetWindow, NeedsElementsOfOneShapeAndASize) {
  const Dataset set = numbers(2).concatenate(Dataset::from_tensors(Tensor::zeros({1, 2}), Tensor::zeros({1})));
  EXPECT_THAT([&] { read(set.window(2, {.shift = 1})); },
              ThrowsMessage<InvalidArgument>(HasSubstr("window, element 1: the examples of a batch need")));
  EXPECT_THAT([] { (void)numbers(2).window(0); }, ThrowsMessage<InvalidArgument>(HasSubstr("got 0, 0 and 1")));
  EXPECT_THAT([] { (void)numbers(2).window(2, {.shift = 0}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("got 2, 0 and 1")));
  EXPECT_THAT([] { (void)numbers(2).window(std::int64_t{1} << 62, {.stride = 4}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("is too long")));
}

}  // namespace
}  // namespace lockstep
