#include <stdexcept>

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

/// A data set that has x of `element` `count` times.
Dataset times(const Example& element, std::int64_t count) {
  return Dataset::from_tensors(Tensor::full({count}, element.x().item<float>()));
}
Dataset own_number_of_times(const Example& element) {
  return times(element, static_cast<std::int64_t>(element.x().item<float>()));
}

TEST(DatasetFlatMap, GivesOneDataSetAfterTheOther) {
  const Dataset set = numbers(4).flat_map(own_number_of_times);
  EXPECT_THAT(read(set), ElementsAre(1, 2, 2, 3, 3, 3));
  EXPECT_THAT(read(set.batch(4)), ElementsAre(1, 2, 2, 3, 3, 3));
  EXPECT_THAT(test::batch_sizes(set.batch(4)), ElementsAre(4, 2));
}

/// The example of tf.data's documentation of interleave.
TEST(DatasetInterleave, TakesBlocksInTurn) {
  const Dataset set = numbers(6).skip(1).interleave([](const Example& e) { return times(e, 6); }, 2, 4);
  EXPECT_THAT(read(set),
              ElementsAre(1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5));
}

TEST(DatasetInterleave, GivesThePlaceOfADataSetThatHasEndedToTheNext) {
  EXPECT_THAT(read(numbers(5).interleave(own_number_of_times, 2)), ElementsAre(1, 2, 2, 3, 3, 4, 3, 4, 4, 4));
  EXPECT_THAT(read(numbers(3).interleave(own_number_of_times, 100, 2)), ElementsAre(1, 2, 2));
  EXPECT_THAT(read(numbers(0).interleave(own_number_of_times, 2)), IsEmpty());
}

TEST(DatasetInterleave, HasAnUnknownSize) {
  EXPECT_EQ(numbers(3).flat_map(own_number_of_times).size(), std::nullopt);
  EXPECT_FALSE(numbers(3).flat_map(own_number_of_times).is_endless());
  EXPECT_TRUE(numbers(3).repeat().interleave(own_number_of_times, 2).is_endless());
  EXPECT_EQ(numbers(0).flat_map(own_number_of_times).size(), 0);
}

TEST(DatasetInterleave, ReadsItsDataSetsWithItsEpoch) {
  const Dataset shuffled = numbers(9).shuffle({.seed = 3});
  EXPECT_EQ(read(numbers(1).flat_map([&](const Example&) { return shuffled; }), 4), read(shuffled, 4));
}

TEST(DatasetInterleave, DoesNotMakeElementsThatAreSkipped) {
  int made = 0;
  const auto make = [&](const Example&) {
    return numbers(5).map([&](const Example& e) {
      ++made;
      return e;
    });
  };
  const ComputeThreadsScope one(1);
  EXPECT_THAT(read(numbers(9).flat_map(make).skip(38).take(1)), ElementsAre(3));
  EXPECT_EQ(made, 1);
}

TEST(DatasetInterleave, NamesTheElementAndThatOfItsDataSet) {
  const auto make = [](const Example& element) {
    if (element.x().item<float>() == 2) throw std::runtime_error("no file");
    return numbers(2).map([](const Example& e) -> Example {
      if (e.x().item<float>() == 1) throw std::runtime_error("damaged");
      return e;
    });
  };
  const auto element = [](float number) { return numbers(3).skip(static_cast<std::int64_t>(number)); };
  EXPECT_THAT([&] { read(element(2).flat_map(make)); }, ThrowsMessage<InputError>("flat_map, element 0: no file"));
  EXPECT_THAT([&] { read(numbers(2).interleave(make, 2)); },
              ThrowsMessage<InputError>("interleave, element 0: map, element 1: damaged"));
}

TEST(DatasetInterleave, NeedsAFunctionAndLengths) {
  EXPECT_THAT([] { (void)numbers(1).flat_map(nullptr); },
              ThrowsMessage<InvalidArgument>("flat_map() needs a function"));
  EXPECT_THAT([] { (void)numbers(1).interleave(nullptr, 1); },
              ThrowsMessage<InvalidArgument>("interleave() needs a function"));
  EXPECT_THAT([] { (void)numbers(1).interleave(own_number_of_times, 0, 1); },
              ThrowsMessage<InvalidArgument>(HasSubstr("got cycles of 0 and blocks of 1")));
}

}  // namespace
}  // namespace lockstep
