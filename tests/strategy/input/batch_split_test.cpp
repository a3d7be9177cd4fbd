#include <algorithm>

#include <gtest/gtest.h>

#include <lockstep/strategy/input/batch_split.h>

namespace lockstep {
namespace {

TEST(BatchSplit, SizesDifferByAtMostOneAndCoverTheBatchInOrder) {
  for (std::int64_t rows = 0; rows <= 20; ++rows)
    for (int replicas = 1; replicas <= 8; ++replicas) {
      std::int64_t at = 0;
      for (int replica = 0; replica < replicas; ++replica) {
        const auto [begin, end] = split_rows(rows, replica, replicas);
        ASSERT_EQ(begin, at) << rows << " rows, replica " << replica << " of " << replicas;
        ASSERT_TRUE(end - begin == rows / replicas || end - begin == rows / replicas + 1);
        at = end;
      }
      ASSERT_EQ(at, rows);
    }
}

TEST(BatchSplit, TheFirstReplicasGetTheLongerShares) {
  const auto size = [](std::int64_t rows, int replica, int replicas) {
    const auto [begin, end] = split_rows(rows, replica, replicas);
    return end - begin;
  };
  EXPECT_EQ(size(7, 0, 3), 3);
  EXPECT_EQ(size(7, 1, 3), 2);
  EXPECT_EQ(size(7, 2, 3), 2);
  EXPECT_EQ(size(5, 0, 4), 2);
  EXPECT_EQ(size(5, 3, 4), 1);
  EXPECT_EQ(size(2, 2, 4), 0);
}

}  // namespace
}  // namespace lockstep
