#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <support/replicas.h>

#include <lockstep/runtime/thread/background_queue.h>
#include <lockstep/strategy/comm/replica_group.h>

namespace lockstep {
namespace {

using namespace std::chrono_literals;
using test::this_replica;

TEST(ReplicaGroup, WaitsAYearAtMost) {
  EXPECT_EQ(ReplicaGroup(2, std::chrono::milliseconds::max()).timeout(), std::chrono::years(1));
  EXPECT_EQ(ReplicaGroup(2, 1ms).timeout(), 1ms);
}

TEST(ReplicaGroup, CountsAReplicasOwnTimeWithoutItsWaits) {
  const MirroredStrategy strategy = test::mirrored(3);
  const ReplicaGroup& group = strategy.state()->group();
  for (const int slow : {1, 2}) {
    strategy.run([&] {
      const ReplicaContext context = get_replica_context();
      for (int part = 0; part < 2; ++part) {
        if (this_replica() == slow) std::this_thread::sleep_for(150ms);
        context.barrier("the middle");
      }
    });
    EXPECT_GE(group.busy(slow), 300ms);
    // The other replicas were in the step as long, but waited most of that time.
    for (const int fast : {0, 3 - slow}) EXPECT_LT(group.busy(fast), group.busy(slow)) << "replica " << fast;
  }
}

// A merge works for all replicas: its time counts for none of them, neither for the one whose thread it runs on nor for
// the others.
TEST(ReplicaGroup, DoesNotCountMerges) {
  const MirroredStrategy strategy = test::mirrored(3);
  const auto start = ReplicaGroup::Clock::now();
  strategy.run([] { get_replica_context().merge_call([](const Strategy&) { std::this_thread::sleep_for(50ms); }); });
  const auto whole = ReplicaGroup::Clock::now() - start;
  EXPECT_LE(strategy.state()->group().busy(0), whole - 50ms) << "it slept at least that long";
}

// A step that takes from a background queue: the wait is measured with the same clock on the same thread.
TEST(ReplicaGroup, DoesNotCountWaitsForInput) {
  const MirroredStrategy strategy = test::mirrored(2);
  const auto start = ReplicaGroup::Clock::now();
  WaitTimer::Clock::duration waited{};
  strategy.run([&] {
    if (this_replica() == 1) return;
    const auto before = WaitTimer::total();
    BackgroundQueue<int> input(1, []() -> std::optional<int> {
      std::this_thread::sleep_for(50ms);
      return 1;
    });
    EXPECT_EQ(input.next(), 1);
    waited = WaitTimer::total() - before;
  });
  const auto whole = ReplicaGroup::Clock::now() - start;
  EXPECT_GT(waited, 0ns);
  EXPECT_LE(strategy.state()->group().busy(0), whole - waited);
}

TEST(ReplicaGroup, KnowsTheLastStepOnly) {
  const MirroredStrategy strategy = test::mirrored(2);
  strategy.run([] { std::this_thread::sleep_for(30ms); });
  const auto long_step = strategy.state()->group().busy(0);
  EXPECT_GE(long_step, 30ms);
  // At least one of several empty steps is short, however busy the machine.
  auto shortest = long_step;
  for (int i = 0; i < 20; ++i) {
    strategy.run([] {});
    shortest = std::min(shortest, strategy.state()->group().busy(0));
  }
  EXPECT_LT(shortest, long_step);
}

}  // namespace
}  // namespace lockstep
