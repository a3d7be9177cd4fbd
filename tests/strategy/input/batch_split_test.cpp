#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/strategy/input/batch_split.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

std::int64_t sum_of(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

// semantics 6.1, 15.2: one rule everywhere, sizes differ by at most one.
TEST(BatchSplit, SizesDifferByAtMostOneTheFirstReplicasHaveTheLongerParts) {
  for (std::int64_t rows = 0; rows <= 20; ++rows)
    for (int replicas = 1; replicas <= 8; ++replicas) {
      const std::vector<std::int64_t> sizes = split_rows(rows, replicas);
      ASSERT_EQ(sizes.size(), static_cast<std::size_t>(replicas));
      for (int replica = 0; replica < replicas; ++replica)
        ASSERT_EQ(sizes[replica], rows / replicas + (replica < rows % replicas ? 1 : 0))
            << rows << " rows, replica " << replica << " of " << replicas;
    }
}

// semantics 14.1, Probe P1; TensorFlow's default policy deals 3|3|1 and 2|2|1|0.
TEST(BatchSplit, WorkedExamples) {
  EXPECT_THAT(split_rows(7, 3), ElementsAre(3, 2, 2));
  EXPECT_THAT(split_rows(5, 4), ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(split_rows(2, 4), ElementsAre(1, 1, 0, 0));
  // TF case 87, the part of one machine: four replicas take 7 rows a step. Two workers are the multi-worker strategy's.
  EXPECT_THAT(split_rows(7, 4), ElementsAre(2, 2, 2, 1));
  // P1: TensorFlow deals 2|2|0 by its default policy.
  EXPECT_THAT(split_rows(4, 3), ElementsAre(2, 1, 1));
}

TEST(BatchSplit, ByShares) {
  const auto split = [](std::int64_t rows, std::vector<double> shares) {
    return split_rows(rows, static_cast<int>(shares.size()), shares);
  };
  EXPECT_THAT(split(9, {2, 1}), ElementsAre(6, 3));
  EXPECT_THAT(split(8, {2, 1}), ElementsAre(5, 3));  // 5.33 and 2.67: the larger remainder gets the extra row
  EXPECT_THAT(split(7, {2, 1}), ElementsAre(5, 2));  // 4.67 and 2.33
  EXPECT_THAT(split(1, {1, 2}), ElementsAre(0, 1));
  EXPECT_THAT(split(10, {0.5, 0.25, 0.25}), ElementsAre(5, 3, 2));  // equal remainders: the first one
  EXPECT_THAT(split(3, {1e-9, 1}), ElementsAre(0, 3));
  EXPECT_THAT(split(9, {1.5e308, 0.75e308}), ElementsAre(6, 3));  // their sum is not finite
  EXPECT_THAT(split(9, {2e-320, 1e-320}), ElementsAre(6, 3));
}

TEST(BatchSplit, UsesEveryRowOnceWhateverTheShares) {
  for (const auto& shares :
       std::vector<std::vector<double>>{{1, 1, 1}, {0.1, 0.2, 0.7}, {3, 1, 1e-3}, {1e9, 7, 1.0 / 3}})
    for (std::int64_t rows = 0; rows <= 300; ++rows) {
      const std::vector<std::int64_t> sizes = split_rows(rows, 3, shares);
      ASSERT_EQ(sum_of(sizes), rows);
      const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
      for (std::size_t replica = 0; replica < 3; ++replica)
        ASSERT_LT(std::abs(static_cast<double>(sizes[replica]) - static_cast<double>(rows) * shares[replica] / total),
                  1.0 + 1e-9);
    }
}

TEST(BatchSplit, EqualSharesAreNoShares) {
  for (std::int64_t rows = 0; rows <= 40; ++rows)
    for (const int replicas : {1, 2, 3, 5, 7})
      EXPECT_EQ(split_rows(rows, replicas, std::vector<double>(static_cast<std::size_t>(replicas), 0.3)),
                split_rows(rows, replicas));
}

TEST(BatchShares, AreOnePositiveNumberForEachReplica) {
  EXPECT_NO_THROW(check_shares({}, 3));
  EXPECT_NO_THROW(check_shares(std::vector{2.0, 1.0}, 2));
  EXPECT_ERROR(InvalidArgument, "2 batch shares [2, 1] were given for 3 replica(s)",
               check_shares(std::vector{2.0, 1.0}, 3));
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_ERROR(InvalidArgument, "must be positive and finite", check_shares(std::vector{1.0, bad}, 2));
}

}  // namespace
}  // namespace lockstep
