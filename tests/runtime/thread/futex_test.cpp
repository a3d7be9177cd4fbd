#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lockstep/runtime/thread/futex.h>

namespace lockstep {
namespace {

using namespace std::chrono_literals;

/// More than the number of cores of any machine.
constexpr int many = 1 << 20;

class FutexOf : public testing::TestWithParam<int> {
 protected:
  const int threads_ = GetParam();
};

TEST_P(FutexOf, WakesAllWhoSleep) {
  for (int round = 0; round < 3; ++round) {
    Futex word(threads_);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_TRUE(word.wait_while(0)); });
    std::this_thread::sleep_for(round * 10ms);  // they fall asleep in some rounds only
    word.add(1);
  }
}

TEST_P(FutexOf, DoesNotWaitForANumberThatIsNotThere) {
  Futex word(threads_);
  word.add(2);
  EXPECT_TRUE(word.wait_while(0));
  EXPECT_EQ(word.load(), 2U);
}

TEST_P(FutexOf, GivesUpAtTheDeadlineAndNotBefore) {
  Futex word(threads_);
  const auto deadline = Futex::Clock::now() + 20ms;
  EXPECT_FALSE(word.wait_while(0, deadline));
  EXPECT_GE(Futex::Clock::now(), deadline);
  EXPECT_FALSE(word.wait_while(0, deadline)) << "a deadline that has passed";
}

TEST_P(FutexOf, IsExchangedOnlyForWhatIsExpected) {
  Futex word(threads_);
  EXPECT_FALSE(word.exchange(1, 5));
  EXPECT_EQ(word.load(), 0U);
  EXPECT_TRUE(word.exchange(0, 4));
  word.set_bits(1);
  EXPECT_EQ(word.load(), 5U);
  word.clear_bits(4);
  EXPECT_EQ(word.load(), 1U);
}

// Two threads that wait for each other's number: a lost wake-up would hang.
TEST_P(FutexOf, LosesNoWakeUp) {
  Futex ping(threads_);
  Futex pong(threads_);
  constexpr std::uint32_t rounds = 5000;
  std::jthread other([&] {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      ping.wait_while(round);
      pong.add(1);
    }
  });
  for (std::uint32_t round = 0; round < rounds; ++round) {
    ping.add(1);
    pong.wait_while(round);
  }
  EXPECT_EQ(pong.load(), rounds);
}

// One spinning before it sleeps, and one sleeping at once.
INSTANTIATE_TEST_SUITE_P(Threads, FutexOf, testing::Values(1, many));

}  // namespace
}  // namespace lockstep
