#include <chrono>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/watchdog.h>

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;

/// Replica 0 waits for replica 1, which never comes.
void hang() {
  const Watchdog watchdog("a step that hangs", 300ms);
  mirrored(2).run([] {
    const ReplicaContext context = get_replica_context();
    context.meet("the start");
    while (this_replica() == 1) std::this_thread::sleep_for(1ms);
    context.meet("the end");
  });
}

class WatchdogDeathTest : public testing::Test {
 protected:
  // The child has threads, so it is not forked in the middle of the program but starts anew.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(WatchdogDeathTest, TellsWhatEveryReplicaIsDoing) {
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGABRT),
              "a step that hangs has not ended after 0\\.3 s\n"
              "replica 0: waiting in the end for [0-9.]+ s; replica 1: running for [0-9.]+ s since the start");
}

TEST_F(WatchdogDeathTest, TellsThatNoReplicaRuns) {
  const auto sleep = [] {
    const Watchdog watchdog("a sleep", 50ms);
    std::this_thread::sleep_for(10min);
  };
  EXPECT_EXIT(sleep(), testing::KilledBySignal(SIGABRT), "a sleep has not ended after 0\\.05 s\nno replica runs");
}

TEST(Watchdog, LeavesInPeaceWhatEndsInTime) {
  for (int i = 0; i < 20; ++i) const Watchdog watchdog("nothing", 10min);
}

}  // namespace
}  // namespace lockstep::test
