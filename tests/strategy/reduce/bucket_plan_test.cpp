#include <numeric>

#include <gtest/gtest.h>

#include <lockstep/strategy/reduce/bucket_plan.h>

namespace lockstep {
namespace {

using Sizes = std::vector<std::int64_t>;
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The plan for limits in elements.
Ranges plan(const Sizes& sizes, std::int64_t first, std::int64_t others) {
  Ranges ranges;
  for (const FlatRange& range : plan_buckets(sizes, {.first_bytes = 4 * first, .bytes = 4 * others}))
    ranges.emplace_back(range.begin, range.end);
  return ranges;
}

TEST(BucketPlan, NothingMakesNoBucket) { EXPECT_EQ(plan({}, 10, 20), Ranges{}); }

TEST(BucketPlan, WhatStaysBelowTheLimitIsOneBucket) { EXPECT_EQ(plan({3, 4}, 10, 20), (Ranges{{0, 7}})); }

TEST(BucketPlan, ABucketIsClosedOnceItHoldsItsLimit) {
  EXPECT_EQ(plan({5, 5, 20, 1}, 10, 20), (Ranges{{0, 10}, {10, 30}, {30, 31}}));
  EXPECT_EQ(plan({9, 9}, 10, 20), (Ranges{{0, 18}}));
}

TEST(BucketPlan, TheFirstBucketHasALimitOfItsOwn) {
  EXPECT_EQ(plan({4, 4, 4, 4, 4}, 4, 8), (Ranges{{0, 4}, {4, 12}, {12, 20}}));
}

TEST(BucketPlan, ParametersStayWhole) {
  EXPECT_EQ(plan({1, 1000, 1}, 1, 2), (Ranges{{0, 1}, {1, 1001}, {1001, 1002}}));
}

TEST(BucketPlan, EmptyParametersMakeNoBucket) {
  EXPECT_EQ(plan({0, 0}, 10, 20), Ranges{});
  EXPECT_EQ(plan({10, 0, 0}, 10, 20), (Ranges{{0, 10}}));
}

TEST(BucketPlan, LimitZeroGivesEachParameterItsBucket) {
  EXPECT_EQ(plan({3, 2, 1}, 0, 0), (Ranges{{0, 3}, {3, 5}, {5, 6}}));
}

TEST(BucketPlan, DefaultsAreOneMebibyteThenTwentyFive) {
  constexpr std::int64_t mebibyte = (1 << 20) / 4;
  const Sizes sizes(60, mebibyte);
  const auto buckets = plan_buckets(sizes);
  ASSERT_EQ(buckets.size(), 4U);
  EXPECT_EQ(buckets[0].end, mebibyte);
  EXPECT_EQ(buckets[1].end, 26 * mebibyte);
  EXPECT_EQ(buckets[2].end, 51 * mebibyte);
  EXPECT_EQ(buckets[3].end, 60 * mebibyte);
}

TEST(BucketPlan, FindsTheBucketOfAParameter) {
  const std::vector<FlatRange> buckets{{0, 4}, {4, 10}};
  EXPECT_EQ(bucket_of(buckets, 0), 0U);
  EXPECT_EQ(bucket_of(buckets, 3), 0U);
  EXPECT_EQ(bucket_of(buckets, 4), 1U);
  EXPECT_EQ(bucket_of(buckets, 10), 1U) << "a parameter without elements at the end";
}

}  // namespace
}  // namespace lockstep
