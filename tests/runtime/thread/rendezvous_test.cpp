#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/thread/rendezvous.h>

namespace lockstep {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr auto forever = 60s;  // never reached unless a test fails

/// Runs body(member) on a thread for each member and waits for all.
template <class Body>
void for_each_member(int members, Body&& body) {
  std::vector<std::jthread> threads;
  for (int member = 0; member < members; ++member) threads.emplace_back([&body, member] { body(member); });
}

class RendezvousOf : public testing::TestWithParam<int> {};

TEST_P(RendezvousOf, NobodyLeavesBeforeEverybodyHasCome) {
  constexpr int rounds = 50;
  const int members = GetParam();
  Rendezvous rendezvous(members);
  std::atomic<int> arrivals{0};
  std::atomic<int> early{0};
  for_each_member(members, [&](int member) {
    for (int round = 1; round <= rounds; ++round) {
      ++arrivals;
      rendezvous.arrive_and_wait(member, "the test", forever);
      if (arrivals < round * members) ++early;
    }
  });
  EXPECT_EQ(early, 0);
  EXPECT_EQ(arrivals, rounds * members);
}

TEST_P(RendezvousOf, AbortReleasesAllTheOthers) {
  const int members = GetParam();
  Rendezvous rendezvous(members);
  std::atomic<int> released{0};
  for_each_member(members, [&](int member) {
    if (member == members - 1) {
      rendezvous.abort("replica fell over");
      return;
    }
    try {
      rendezvous.arrive_and_wait(member, "the test", forever);
    } catch (const Aborted& error) {
      EXPECT_THAT(error.what(), HasSubstr("replica fell over"));
      ++released;
    }
  });
  EXPECT_EQ(released, members - 1);
}

TEST_P(RendezvousOf, MeetsAgainAfterAReset) {
  const int members = GetParam();
  Rendezvous rendezvous(members);
  rendezvous.abort("first try");
  EXPECT_THROW(rendezvous.arrive_and_wait(0, "the test", forever), Aborted);
  rendezvous.reset();
  std::atomic<int> met{0};
  for_each_member(members, [&](int member) {
    rendezvous.arrive_and_wait(member, "the test", forever);
    ++met;
  });
  EXPECT_EQ(met, members);
}

INSTANTIATE_TEST_SUITE_P(Members, RendezvousOf, testing::Range(1, 9));

TEST(Rendezvous, TimeoutNamesThePlaceAndWhoIsMissing) {
  Rendezvous rendezvous(4);
  EXPECT_THAT([&] { rendezvous.arrive_and_wait(2, "all-reduce of bucket 7", 1ms); },
              ThrowsMessage<Timeout>(AllOf(HasSubstr("all-reduce of bucket 7"), HasSubstr("0, 1, 3"))));
}

TEST(Rendezvous, AfterATimeoutEverybodyIsReleasedUntilReset) {
  Rendezvous rendezvous(2);
  EXPECT_THROW(rendezvous.arrive_and_wait(0, "step 3", 1ms), Timeout);
  EXPECT_THAT([&] { rendezvous.arrive_and_wait(1, "step 3", forever); },
              ThrowsMessage<Aborted>(HasSubstr("step 3 waited 1 ms")));
  rendezvous.reset();
  for_each_member(2, [&](int member) { EXPECT_NO_THROW(rendezvous.arrive_and_wait(member, "step 4", forever)); });
}

TEST(Rendezvous, KeepsTheFirstReason) {
  Rendezvous rendezvous(2);
  rendezvous.abort("the cause");
  rendezvous.abort("a consequence");
  EXPECT_THAT([&] { rendezvous.arrive_and_wait(0, "the test", forever); },
              ThrowsMessage<Aborted>(HasSubstr("the cause")));
}

TEST(Rendezvous, NeedsAMember) {
  EXPECT_THROW(Rendezvous(0), InvalidArgument);
  EXPECT_THROW(Rendezvous(-1), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
