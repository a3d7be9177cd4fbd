#include <chrono>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include <lockstep/runtime/trace/step_clock.h>

namespace lockstep {
namespace {

using namespace std::chrono_literals;

double time_of(const StepClock::Split& split, Phase phase) { return split[static_cast<std::size_t>(phase)]; }

struct StepClockTest : testing::Test {
  StepClockTest() { StepClock::take(); }
};

TEST_F(StepClockTest, CountsOnlyThePhaseThatRan) {
  {
    const PhaseTimer timer(Phase::reduce);
    std::this_thread::sleep_for(1ms);
  }
  const StepClock::Split split = StepClock::take();
  EXPECT_GE(time_of(split, Phase::reduce), 1.0);
  EXPECT_EQ(time_of(split, Phase::input), 0.0);
  EXPECT_EQ(time_of(split, Phase::compute), 0.0);
  EXPECT_EQ(time_of(split, Phase::update), 0.0);
}

TEST_F(StepClockTest, TakeClears) {
  { const PhaseTimer timer(Phase::input); }
  StepClock::take();
  EXPECT_EQ(StepClock::take(), StepClock::Split{});
}

TEST_F(StepClockTest, InnerTimeIsNotCountedInTheOuter) {
  const auto start = std::chrono::steady_clock::now();
  {
    const PhaseTimer compute(Phase::compute);
    const PhaseTimer reduce(Phase::reduce);
    const PhaseTimer update(Phase::update);
    std::this_thread::sleep_for(5ms);
  }
  const double wall = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const StepClock::Split split = StepClock::take();
  EXPECT_GE(time_of(split, Phase::update), 5.0);
  EXPECT_GE(time_of(split, Phase::compute), 0.0);
  EXPECT_GE(time_of(split, Phase::reduce), 0.0);
  EXPECT_LE(std::accumulate(split.begin(), split.end(), 0.0), wall);
}

TEST_F(StepClockTest, AddsUpUntilTaken) {
  for (int i = 0; i < 3; ++i) {
    const PhaseTimer timer(Phase::compute);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GE(time_of(StepClock::take(), Phase::compute), 3.0);
}

TEST_F(StepClockTest, BelongsToItsThread) {
  std::jthread([] { const PhaseTimer timer(Phase::input); }).join();
  EXPECT_EQ(StepClock::take(), StepClock::Split{});
}

}  // namespace
}  // namespace lockstep
