#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/data/dataset.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// `n` elements equal to `value`.
Dataset all(float value, std::int64_t n) { return Dataset::from_tensors(Tensor::full({n}, value)); }

TEST(DatasetSample, MixesDataSetsByTheirWeights) {
  const std::vector<float> found =
      read(Dataset::sample_from_datasets({all(0, 5).repeat(), all(1, 5).repeat()}, {.weights = {1, 3}, .seed = 2})
               .take(4000));
  EXPECT_NEAR(static_cast<double>(std::count(found.begin(), found.end(), 1.0F)), 3000, 3 * 27.4);
}

TEST(DatasetSample, MixesByTheRatiosOfWeightsOfAnySize) {
  const auto draws = [](double weight) {
    const std::vector<Dataset> sets{all(0, 200), all(1, 200)};
    return read(Dataset::sample_from_datasets(sets, {.weights = {weight, weight}, .seed = 2}));
  };
  for (const double weight : {1e308, 1e-308, 5e-324}) EXPECT_EQ(draws(weight), draws(1)) << weight;
}

TEST(DatasetSample, GivesEachDataSetInItsOrder) {
  const Dataset set = Dataset::sample_from_datasets({numbers(40), numbers(30).map(test::negated)});
  std::vector<float> positive;
  std::vector<float> negative;
  for (const float value : read(set.skip(0))) (std::signbit(value) ? negative : positive).push_back(value);
  EXPECT_EQ(positive, read(numbers(40)));
  EXPECT_EQ(negative, read(numbers(30).map(test::negated)));
}

TEST(DatasetSample, DrawsBySeedAndEpoch) {
  const auto draws = [](std::uint64_t seed, std::uint64_t epoch) {
    return read(Dataset::sample_from_datasets({all(0, 50), all(1, 50)}, {.seed = seed}), epoch);
  };
  EXPECT_EQ(draws(1, 0), draws(1, 0));
  EXPECT_NE(draws(1, 0), draws(2, 0));
  EXPECT_NE(draws(1, 0), draws(1, 1));
}

TEST(DatasetSample, ContinuesWithTheOthersOrStops) {
  const std::vector<Dataset> sets{all(0, 3), all(1, 500)};
  EXPECT_EQ(read(Dataset::sample_from_datasets(sets)).size(), 503U);
  const std::vector<float> until = read(Dataset::sample_from_datasets(sets, {.stop_on_empty_dataset = true}));
  EXPECT_EQ(std::count(until.begin(), until.end(), 0.0F), 3);
  EXPECT_LT(until.size(), 100U);
  EXPECT_EQ(read(Dataset::sample_from_datasets(sets, {.weights = {0, 1}})), read(all(1, 500)))
      << "never draws the other";
}

TEST(DatasetSample, KnowsItsSizeUnlessItStopsEarly) {
  const std::vector<Dataset> sets{all(0, 3), all(1, 5)};
  EXPECT_EQ(Dataset::sample_from_datasets(sets).size(), 8);
  EXPECT_EQ(Dataset::sample_from_datasets(sets, {.weights = {1, 0}}).size(), 3);
  EXPECT_EQ(Dataset::sample_from_datasets(sets, {.stop_on_empty_dataset = true}).size(), std::nullopt);
  const Dataset endless = all(0, 3).repeat();
  EXPECT_TRUE(Dataset::sample_from_datasets({endless, all(1, 5)}).is_endless());
  EXPECT_FALSE(Dataset::sample_from_datasets({endless, all(1, 5)}, {.stop_on_empty_dataset = true}).is_endless());
  EXPECT_TRUE(Dataset::sample_from_datasets({endless, endless}, {.stop_on_empty_dataset = true}).is_endless());
}

TEST(DatasetSample, ChecksItsWeights) {
  const auto sample = [](const std::vector<double>& weights) {
    return [weights] { (void)Dataset::sample_from_datasets({numbers(1), numbers(1)}, {.weights = weights}); };
  };
  EXPECT_THAT([] { (void)Dataset::sample_from_datasets({}); },
              ThrowsMessage<InvalidArgument>("sample_from_datasets() needs a data set"));
  EXPECT_THAT(sample({1}), ThrowsMessage<InvalidArgument>(HasSubstr("each of the 2 data sets, got 1")));
  EXPECT_THAT(sample({1, -1}), ThrowsMessage<InvalidArgument>(HasSubstr("got -1")));
  EXPECT_THAT(sample({1, std::numeric_limits<double>::infinity()}),
              ThrowsMessage<InvalidArgument>(HasSubstr("got inf")));
  EXPECT_THAT(sample({0, 0}), ThrowsMessage<InvalidArgument>(HasSubstr("needs a weight above 0")));
}

}  // namespace
}  // namespace lockstep
