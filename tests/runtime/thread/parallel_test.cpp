#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

using Chunk = std::pair<std::int64_t, std::int64_t>;

std::set<Chunk> chunks_of(std::int64_t n, std::int64_t grain) {
  std::mutex mutex;
  std::set<Chunk> chunks;
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    chunks.emplace(begin, end);
  });
  return chunks;
}

class ParallelShares : public testing::TestWithParam<int> {
 protected:
  ComputeThreadsScope share_{GetParam()};
};

TEST_P(ParallelShares, ChunksCoverTheRangeInOrder) {
  for (const std::int64_t n : {0, 1, 2, 3, 7, 64, 1001})
    for (const std::int64_t grain : {1, 3, 64, 5000}) {
      std::int64_t covered = 0;
      const std::set<Chunk> chunks = chunks_of(n, grain);
      for (const auto& [begin, end] : chunks) {
        EXPECT_EQ(begin, covered);
        EXPECT_GT(end, begin);
        EXPECT_TRUE(end - begin >= grain || end - begin == n) << n << " by " << grain;
        covered = end;
      }
      EXPECT_EQ(covered, n);
      EXPECT_LE(chunks.size(), static_cast<std::size_t>(GetParam()));
    }
}

TEST_P(ParallelShares, ChunksAreTheSameEveryTime) {
  const std::set<Chunk> first = chunks_of(1001, 3);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(chunks_of(1001, 3), first);
}

TEST_P(ParallelShares, NeverUsesMoreThreadsThanItsShare) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  for (int round = 0; round < 5; ++round)
    parallel_for(64, 1, [&](std::int64_t, std::int64_t) {
      const int now = ++running;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      --running;
    });
  EXPECT_LE(most, GetParam());
}

TEST_P(ParallelShares, NestedRegionsAreSerial) {
  parallel_for(8, 1, [](std::int64_t, std::int64_t) {
    EXPECT_EQ(compute_threads(), 1);
    const std::thread::id outer = std::this_thread::get_id();
    parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(end - begin, 100);
      EXPECT_EQ(std::this_thread::get_id(), outer);
    });
  });
  EXPECT_EQ(compute_threads(), GetParam());
}

TEST_P(ParallelShares, ExceptionsReachTheCaller) {
  const auto throwing = [](std::int64_t begin, std::int64_t) {
    if (begin == 0) throw std::runtime_error("in a chunk");
  };
  EXPECT_THROW(parallel_for(100, 1, throwing), std::runtime_error);
  EXPECT_EQ(compute_threads(), GetParam());
  EXPECT_EQ(chunks_of(100, 1).size(), static_cast<std::size_t>(GetParam()));
}

TEST_P(ParallelShares, OfTheInputPipelineAreThoseOfOps) {
  std::mutex mutex;
  std::set<Chunk> chunks;
  parallel_for<LoopThreads::onetbb>(1001, 3, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    chunks.emplace(begin, end);
  });
  EXPECT_EQ(chunks, chunks_of(1001, 3));
  const auto throwing = [](std::int64_t begin, std::int64_t) {
    if (begin == 0) throw std::runtime_error("in a chunk");
  };
  EXPECT_THROW(parallel_for<LoopThreads::onetbb>(100, 1, throwing), std::runtime_error);
  EXPECT_EQ(compute_threads(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelShares, testing::Values(1, 2, 3, 5));

TEST(Parallel, ShareIsAllCoresAtFirst) {
  std::jthread([] { EXPECT_EQ(compute_threads(), available_cores()); });
}

TEST(Parallel, ShareIsAtLeastOne) {
  const ComputeThreadsScope none(0);
  EXPECT_EQ(compute_threads(), 1);
}

TEST(Parallel, ScopesNest) {
  const ComputeThreadsScope outer(3);
  {
    const ComputeThreadsScope inner(2);
    EXPECT_EQ(compute_threads(), 2);
    EXPECT_EQ(chunks_of(12, 1).size(), 2U);
  }
  EXPECT_EQ(compute_threads(), 3);
  EXPECT_EQ(chunks_of(12, 1).size(), 3U);
}

TEST(Parallel, CallersFromSeveralThreadsDoNotMix) {
  std::atomic<std::int64_t> sum{0};
  const auto caller = [&] {
    const ComputeThreadsScope share(2);
    for (int round = 0; round < 50; ++round)
      parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
  };
  {
    const std::jthread first(caller);
    const std::jthread second(caller);
  }
  EXPECT_EQ(sum, 2 * 50 * 100);
}

}  // namespace
}  // namespace lockstep
