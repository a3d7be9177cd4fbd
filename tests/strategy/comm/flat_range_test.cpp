#include <gtest/gtest.h>
#include <support/replicas.h>

#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {
namespace {

TEST(ShardOf, SharesAreConsecutiveOnCacheLinesAndTheWholeRange) {
  constexpr std::int64_t line = 32;  // bf16 elements
  for (const std::int64_t begin : {0, 64})
    for (std::int64_t size = 0; size <= 400; ++size)
      for (const int replicas : test::replica_counts) {
        std::int64_t at = begin;
        for (int replica = 0; replica < replicas; ++replica) {
          const FlatRange share = shard_of({begin, begin + size}, replica, replicas);
          ASSERT_EQ(share.begin, at);
          ASSERT_GE(share.end, share.begin);
          ASSERT_TRUE(share.end == begin + size || (share.end - begin) % line == 0);
          at = share.end;
        }
        ASSERT_EQ(at, begin + size);
      }
}

}  // namespace
}  // namespace lockstep
