#include <chrono>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include <lockstep/runtime/thread/background_queue.h>
#include <lockstep/runtime/thread/rendezvous.h>
#include <lockstep/runtime/thread/wait_timer.h>

namespace lockstep {
namespace {

using namespace std::chrono_literals;
using Clock = WaitTimer::Clock;

// Times are compared with times that the test measures around or within the waits: no speed is assumed.

TEST(WaitTimer, CountsTheOutermostTimerOnce) {
  const Clock::duration before = WaitTimer::total();
  const Clock::time_point start = Clock::now();
  {
    const WaitTimer outer;
    for (int i = 0; i < 3; ++i) {
      const WaitTimer inner;
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_EQ(WaitTimer::total(), before) << "its time counts at its end";
  }
  const Clock::duration counted = WaitTimer::total() - before;
  EXPECT_GE(counted, 15ms);
  EXPECT_LE(counted, Clock::now() - start);
}

TEST(WaitTimer, CountsForItsOwnThread) {
  const Clock::duration before = WaitTimer::total();
  std::jthread([] {
    const WaitTimer timer;
    std::this_thread::sleep_for(1ms);
  }).join();
  EXPECT_EQ(WaitTimer::total(), before);
}

TEST(WaitTimer, CountsBarriers) {
  Rendezvous rendezvous(2);
  const std::jthread late([&] {
    std::this_thread::sleep_for(10ms);
    rendezvous.arrive_and_wait(1, "the test", 60s);
  });
  const Clock::duration before = WaitTimer::total();
  const Clock::time_point start = Clock::now();
  rendezvous.arrive_and_wait(0, "the test", 60s);
  EXPECT_GT(WaitTimer::total(), before);
  EXPECT_LE(WaitTimer::total() - before, Clock::now() - start);
}

TEST(WaitTimer, CountsWaitsForValuesThatAreMadeInTheBackground) {
  BackgroundQueue<int> queue(1, []() -> std::optional<int> {
    std::this_thread::sleep_for(20ms);
    return 7;
  });
  const Clock::duration before = WaitTimer::total();
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(queue.next(), 7);
  EXPECT_GT(WaitTimer::total(), before);
  EXPECT_LE(WaitTimer::total() - before, Clock::now() - start);
}

}  // namespace
}  // namespace lockstep
