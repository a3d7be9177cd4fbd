#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/data/shuffle_draws.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ShuffleDraws, AreTheSameOnEveryMachine) {
  // Computed from the standard's definitions of std::seed_seq and std::mt19937_64, without a C++ library.
  detail::ShuffleDraws draws(7, 3);
  std::vector<std::int64_t> drawn(6);
  for (std::int64_t& value : drawn) value = draws.below(1000);
  EXPECT_THAT(drawn, ElementsAre(467, 548, 125, 244, 502, 18));
}

TEST(ShuffleDraws, AreUniform) {
  // Each count is binomial(n, 1/k); six standard deviations are missed once in 10^8.
  constexpr int bins = 7;
  constexpr int draws = 70'000;
  detail::ShuffleDraws random(1, 0);
  std::vector<int> counts(bins, 0);
  for (int i = 0; i < draws; ++i) ++counts.at(static_cast<std::size_t>(random.below(bins)));
  const double deviation = std::sqrt(draws * (1.0 / bins) * (1 - 1.0 / bins));
  for (const int count : counts) EXPECT_NEAR(count, draws / bins, 6 * deviation);
}

TEST(ShuffleDraws, StayBelowTheBound) {
  detail::ShuffleDraws random(1, 0);
  EXPECT_EQ(random.below(1), 0);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 100; ++i) {
    const std::int64_t drawn = random.below(most);
    EXPECT_TRUE(0 <= drawn && drawn < most);
  }
}

/// Whole shuffles of tensors, whole shuffles of other data sets, and buffered shuffles.
class DatasetShuffle : public testing::TestWithParam<int> {
 protected:
  static constexpr std::int64_t count = 60;

  static Dataset shuffled(std::uint64_t seed) {
    switch (GetParam()) {
      case 0:
        return numbers(count).shuffle({.seed = seed});
      case 1:
        return numbers(count).map([](const Example& example) { return example; }).shuffle({.seed = seed});
      default:
        return numbers(count).shuffle({.seed = seed, .buffer = GetParam()});
    }
  }
};

TEST_P(DatasetShuffle, GivesEveryElementOnce) {
  std::vector<float> values = read(shuffled(1));
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, read(numbers(count)));
}

TEST_P(DatasetShuffle, DependsOnSeedAndEpochAlone) {
  const std::vector<float> order = read(shuffled(1), 2);
  EXPECT_EQ(read(shuffled(1), 2), order);
  EXPECT_NE(read(shuffled(1), 3), order);
  EXPECT_NE(read(shuffled(2), 2), order);
  EXPECT_NE(read(numbers(count)), order);
}

TEST_P(DatasetShuffle, KeepsXAndYTogether) {
  for (const Example& example : shuffled(3).epoch())
    EXPECT_EQ(example.y().item<std::int32_t>(), 10 * example.x().item<float>());
  for (const Batch& batch : shuffled(3).batch(7).epoch())
    for (std::int64_t row = 0; row < batch.size(); ++row)
      EXPECT_EQ(batch.y().data<std::int32_t>()[row], 10 * batch.x().data<float>()[row]);
}

TEST_P(DatasetShuffle, HasOneOrderWithAndWithoutBatches) {
  EXPECT_EQ(read(shuffled(4).batch(7), 5), read(shuffled(4), 5));
}

INSTANTIATE_TEST_SUITE_P(Kinds, DatasetShuffle, testing::Values(0, 1, 2, 10, 1000));

TEST(DatasetShuffleBuffer, OfTheWholeSetIsAWholeShuffle) {
  const Dataset mapped = numbers(30).map([](const Example& example) { return example; });
  EXPECT_EQ(read(mapped.shuffle({.seed = 9})), read(numbers(30).shuffle({.seed = 9})));
  EXPECT_EQ(read(numbers(30).shuffle({.seed = 9, .buffer = 30})), read(numbers(30).shuffle({.seed = 9})));
}

TEST(DatasetShuffleBuffer, MovesNoElementForwardByMoreThanItsSize) {
  const std::vector<float> values = read(numbers(100).shuffle({.seed = 1, .buffer = 5}));
  for (std::size_t position = 0; position < values.size(); ++position)
    EXPECT_LT(values[position], static_cast<float>(position + 5));
}

TEST(DatasetShuffleBuffer, OfOneKeepsTheOrder) { EXPECT_EQ(read(numbers(9).shuffle({.buffer = 1})), read(numbers(9))); }

TEST(DatasetShuffleBuffer, MustHoldAnElement) {
  EXPECT_THROW((void)numbers(9).shuffle({.buffer = 0}), InvalidArgument);
  EXPECT_THROW((void)numbers(9).shuffle({.buffer = -2}), InvalidArgument);
}

TEST(DatasetShuffleBuffer, IsNeededForASetWithoutEnd) {
  EXPECT_THAT([] { (void)numbers(9).repeat().shuffle(); }, ThrowsMessage<InvalidArgument>(HasSubstr("without end")));
  EXPECT_EQ(read(numbers(9).repeat().shuffle({.buffer = 4}).take(50)).size(), 50U);
}

}  // namespace
}  // namespace lockstep
