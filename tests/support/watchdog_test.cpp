#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/watchdog.h>

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;

/// Replica 0 waits for replica 1, which never reaches the barrier.
void hang(const MirroredStrategy& strategy = mirrored(2)) {
  strategy.run([] {
    const ReplicaContext context = get_replica_context();
    context.barrier("the start");
    while (this_replica() == 1) std::this_thread::sleep_for(1ms);
    context.barrier("the end");
  });
}

class WatchdogDeathTest : public testing::Test {
 protected:
  // The child has threads, so it restarts the program instead of forking in the middle of it.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(WatchdogDeathTest, TellsWhatEveryReplicaIsDoing) {
  const auto watched = [] {
    const MirroredStrategy strategy = mirrored(2);  // a GPU's first use takes longer than the limit
    strategy.run([] {});
    const Watchdog watchdog("a step that hangs", 300ms);
    hang(strategy);
  };
  EXPECT_EXIT(watched(), testing::KilledBySignal(SIGABRT),
              "a step that hangs timed out after 0\\.3 s\n"
              "replica 0: waiting in the end for [0-9.]+ s; replica 1: running for [0-9.]+ s since the start");
}

TEST_F(WatchdogDeathTest, TellsThatNoReplicaRuns) {
  const auto sleep = [] {
    const Watchdog watchdog("a sleep", 50ms);
    std::this_thread::sleep_for(10min);
  };
  EXPECT_EXIT(sleep(), testing::KilledBySignal(SIGABRT), "a sleep timed out after 0\\.05 s\nno replica runs");
}

// The next test runs this one in a process of its own.
TEST(Watchdog, DISABLED_Hangs) { hang(); }

TEST(Watchdog, IsSetOnEachTestWhereCtestGivesALimit) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "LOCKSTEP_TEST_LIMIT_S=1 '" + program +
                              "' --gtest_also_run_disabled_tests --gtest_filter=Watchdog.DISABLED_Hangs 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output.push_back(static_cast<char>(c));
  EXPECT_NE(pclose(pipe), 0);
  EXPECT_THAT(output, testing::ContainsRegex("Watchdog\\.DISABLED_Hangs timed out after 1 s\n"
                                             "replica 0: waiting in the end for [0-9.]+ s; "
                                             "replica 1: running for [0-9.]+ s since the start"));
}

TEST(Watchdog, LeavesInPeaceWhatEndsInTime) {
  for (int i = 0; i < 20; ++i) const Watchdog watchdog("nothing", 10min);
}

}  // namespace
}  // namespace lockstep::test
