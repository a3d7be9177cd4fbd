#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/thread/parallel.h>
#include <lockstep/runtime/thread/thread_team.h>

namespace lockstep {
namespace {

std::vector<ExecutionContext> contexts(int members) {
  std::vector<ExecutionContext> all;
  for (int member = 0; member < members; ++member)
    all.push_back({.device = {DeviceKind::cpu, member, member + 1}, .replica = member, .replicas = members});
  return all;
}

TEST(ThreadTeam, RunsEachMembersJobsOnOneThreadOfItsOwn) {
  ThreadTeam team(contexts(4));
  std::vector<std::vector<std::thread::id>> ids(4);
  for (int round = 0; round < 50; ++round)
    team.run([&](int member) { ids[static_cast<std::size_t>(member)].push_back(std::this_thread::get_id()); });
  std::set<std::thread::id> distinct{std::this_thread::get_id()};
  for (const auto& own : ids) {
    EXPECT_EQ(own.size(), 50U);
    EXPECT_THAT(own, testing::Each(own.front()));
    distinct.insert(own.front());
  }
  EXPECT_EQ(distinct.size(), 5U);
}

TEST(ThreadTeam, MembersHaveTheirContextAndTheirShareOfTheCores) {
  ThreadTeam team(contexts(3));
  team.run([](int member) {
    EXPECT_EQ(current_context().device.index, member);
    EXPECT_EQ(current_context().replica, member);
    EXPECT_EQ(compute_threads(), member + 1);
  });
}

TEST(ThreadTeam, MembersRunAtTheSameTime) {
  ThreadTeam team(contexts(3));
  std::atomic<int> here = 0;
  team.run([&](int) {
    ++here;
    while (here < 3) std::this_thread::yield();
  });
  EXPECT_EQ(here, 3);
}

TEST(ThreadTeam, WaitsForAllAndRethrowsTheFirstMembersError) {
  ThreadTeam team(contexts(3));
  std::atomic<int> ended = 0;
  const auto job = [&](int member) {
    ++ended;
    if (member == 1) fail<Unsupported>("no such op");
    if (member == 2) throw std::runtime_error("second");
  };
  EXPECT_THAT([&] { team.run(job); }, testing::ThrowsMessage<Unsupported>("no such op"));
  EXPECT_EQ(ended, 3);
  team.run([&](int) { ++ended; });
  EXPECT_EQ(ended, 6) << "works again, and the error is not thrown again";
}

TEST(ThreadTeam, WithoutARunEnds) { ThreadTeam team(contexts(2)); }

}  // namespace
}  // namespace lockstep
