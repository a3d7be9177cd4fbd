#include "blocks.h"

#include <set>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep::test {
namespace {

constexpr int threads = 96;

class Blocks : public testing::Test {
 protected:
  unsigned running_ = 0;
  Block block_{threads, running_};
};

TEST_F(Blocks, EachThreadRunsOnceInAnOrderThatChanges) {
  std::set<std::vector<unsigned>> orders;
  for (int run = 0; run < 5; ++run) {
    std::vector<unsigned> order;
    block_.run([&] { order.push_back(running_); });
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), std::size_t{threads});
    EXPECT_EQ(order.size(), std::size_t{threads});
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 5U);
}

TEST_F(Blocks, NoThreadPassesABarrierBeforeAllHaveComeToIt) {
  int came = 0;
  block_.run([&] {
    for (int turn = 1; turn <= 3; ++turn) {
      ++came;
      block_.wait_for_block();
      EXPECT_EQ(came, turn * threads);
      block_.wait_for_block();
    }
  });
}

TEST_F(Blocks, WarpsWaitForThemselvesAlone) {
  std::vector<int> came(threads / Block::warp);
  bool apart = false;
  block_.run([&] {
    const unsigned warp = running_ / Block::warp;
    // A different number of turns for each warp.
    for (int turn = 1; turn <= 2 + static_cast<int>(warp); ++turn) {
      ++came[warp];
      block_.wait_for_warp();
      EXPECT_EQ(came[warp], turn * Block::warp);
      apart = apart || came[0] != came[1];
      block_.wait_for_warp();
    }
  });
  EXPECT_TRUE(apart);
}

TEST_F(Blocks, AMissingBarrierShows) {
  std::vector<unsigned> values(threads);
  unsigned wrong = 0;
  block_.run([&] {
    const unsigned own = running_;
    values[own] = own + 1;
    const unsigned other = (own + 1) % threads;
    if (values[other] != other + 1) ++wrong;
  });
  EXPECT_GT(wrong, 0U);
}

TEST_F(Blocks, ABarrierThatSomeEndWithoutIsAnError) {
  EXPECT_THROW(block_.run([&] {
    if (running_ > 0) block_.wait_for_block();
  }),
               LogicError);
  EXPECT_THROW(block_.run([&] {
    if (running_ % 2 == 0)
      block_.wait_for_block();
    else
      block_.wait_for_warp();
  }),
               LogicError);
  int ran = 0;
  block_.run([&] { ++ran; });
  EXPECT_EQ(ran, threads);
}

TEST_F(Blocks, ErrorsComeOut) {
  EXPECT_THROW(block_.run([&] {
    if (running_ == 7) throw std::out_of_range("seven");
    block_.wait_for_block();
  }),
               std::out_of_range);
}

}  // namespace
}  // namespace lockstep::test
