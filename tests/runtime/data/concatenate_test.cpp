#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(DatasetConcatenate, GivesOneAfterTheOther) {
  const Dataset set = numbers(3).concatenate(numbers(2).map(test::negated));
  EXPECT_THAT(read(set), ElementsAre(0, 1, 2, 0, -1));
  EXPECT_THAT(read(set.batch(2)), ElementsAre(0, 1, 2, 0, -1));
  EXPECT_THAT(test::batch_sizes(set.batch(2)), ElementsAre(2, 2, 1));
  EXPECT_THAT(read(numbers(0).concatenate(numbers(2))), ElementsAre(0, 1));
  EXPECT_THAT(read(numbers(2).concatenate(numbers(0))), ElementsAre(0, 1));
}

TEST(DatasetConcatenate, AddsSizes) {
  const Dataset some = numbers(5).filter([](const Example&) { return true; });
  EXPECT_EQ(numbers(3).concatenate(numbers(4)).size(), 7);
  EXPECT_EQ(numbers(3).concatenate(some).size(), std::nullopt);
  EXPECT_FALSE(some.concatenate(numbers(3)).is_endless());
  EXPECT_TRUE(some.concatenate(numbers(3).repeat()).is_endless());
  EXPECT_TRUE(numbers(3).repeat().concatenate(some).is_endless());
  EXPECT_EQ(numbers(5).batch(2, true).concatenate(numbers(6).batch(4, true)).dropped_rows(), 3);
}

TEST(DatasetConcatenate, ReadsBothWithTheSameEpoch) {
  const Dataset shuffled = numbers(9).shuffle({.seed = 3});
  std::vector<float> expected = read(shuffled, 4);
  const std::vector<float> once = expected;
  expected.insert(expected.end(), once.begin(), once.end());
  EXPECT_EQ(read(shuffled.concatenate(shuffled), 4), expected);
}

TEST(DatasetConcatenate, BatchesNeedElementsOfOneShape) {
  const Dataset set = numbers(1).concatenate(Dataset::from_tensors(Tensor::zeros({1, 2}), Tensor::zeros({1})));
  EXPECT_THAT([&] { read(set.batch(2)); }, ThrowsMessage<InvalidArgument>(HasSubstr("of one shape and dtype")));
}

// Which of the first set's batches are kept is not known, so neither is which batch is the second set's first.
TEST(DatasetConcatenate, DoesNotKnowRowsBehindASetOfUnknownSize) {
  const auto starts_with_0 = [](const Example& batch) { return batch.x().to_vector<float>().front() == 0; };
  const Dataset first = numbers(12).batch(4).filter(starts_with_0);
  const Dataset set = first.concatenate(numbers(2).batch(2).concatenate(numbers(8).map(test::negated).batch(4)));
  EXPECT_FALSE(set.batch_rows(3));
  EXPECT_THAT(read(set.unbatch().skip(12)), ElementsAre(-6, -7));
  EXPECT_FALSE(first.repeat(3).batch_rows(1));
}

TEST(DatasetConcatenate, CountsNoMoreThanFits) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Dataset many = numbers(5).batch(3, true).repeat(most);
  EXPECT_EQ(many.dropped_rows(), most);
  EXPECT_EQ(many.concatenate(many).dropped_rows(), most);
  EXPECT_FALSE(many.skip(most).batch_rows(1));
}

}  // namespace
}  // namespace lockstep
