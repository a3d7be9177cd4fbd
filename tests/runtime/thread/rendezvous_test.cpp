#include <atomic>
#include <chrono>
#include <latch>
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
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::ThrowsMessage;

constexpr auto forever = 60s;  // only reached if a test fails

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
      rendezvous.abort(member, "replica fell over");
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
  rendezvous.abort(0, "first try");
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

TEST(Rendezvous, TimeoutTellsTheStateOfEveryMember) {
  Rendezvous rendezvous(3);
  for (const int member : {0, 1}) rendezvous.begin(member);
  for_each_member(3, [&](int member) { rendezvous.arrive_and_wait(member, "the start", forever); });
  EXPECT_THAT([&] { rendezvous.arrive_and_wait(1, "merge_call at net.cpp:7", 1ms); },
              ThrowsMessage<Timeout>(MatchesRegex("merge_call at net\\.cpp:7 waited 1 ms for replica\\(s\\) 0, 2; "
                                                  "replica 0: running for [0-9.]+ s since the start; "
                                                  "replica 1: waiting in merge_call at net\\.cpp:7 for [0-9.]+ s; "
                                                  "replica 2: running for [0-9.]+ s since the start")));
}

TEST(Rendezvous, TellsTheStatesOfAMemberFromItsBeginningToItsEnd) {
  Rendezvous rendezvous(2);
  EXPECT_EQ(rendezvous.states(), "replica 0: idle; replica 1: idle");
  EXPECT_FALSE(rendezvous.busy());
  rendezvous.begin(0);
  EXPECT_THAT(rendezvous.states(), MatchesRegex("replica 0: running for [0-9.]+ s; replica 1: idle"));
  EXPECT_TRUE(rendezvous.busy());
  EXPECT_THAT(states_of_all_replicas(), HasSubstr("replica 0: running for "));
  rendezvous.finish(0);
  EXPECT_THAT(rendezvous.states(), MatchesRegex("replica 0: ended [0-9.]+ s ago; replica 1: idle"));
  rendezvous.abort(1, "an error");
  EXPECT_THAT(rendezvous.states(), MatchesRegex("replica 0: ended [0-9.]+ s ago; replica 1: ended [0-9.]+ s ago"));
  rendezvous.reset();
  EXPECT_EQ(rendezvous.states(), "replica 0: idle; replica 1: idle");
  EXPECT_EQ(states_of_all_replicas(), "");
}

TEST(Rendezvous, StatesCanBeAskedForWhileMembersWait) {
  constexpr int members = 4;
  Rendezvous rendezvous(members);
  std::latch begun(members);  // before the first member arrives, a rendezvous has no states
  std::atomic<int> arriving = members;
  for_each_member(members + 1, [&](int member) {
    if (member == members) {
      begun.wait();
      while (arriving > 0) EXPECT_THAT(states_of_all_replicas(), HasSubstr("replica 3: "));
      return;
    }
    rendezvous.begin(member);
    begun.count_down();
    for (int round = 0; round < 200; ++round)
      rendezvous.arrive_and_wait(member, round % 2 == 0 ? "even" : "odd", forever);
    --arriving;
  });
}

TEST_P(RendezvousOf, AMemberAtAnotherPlaceIsAnErrorForAll) {
  const int members = GetParam();
  if (members == 1) return;  // no other member
  Rendezvous rendezvous(members);
  std::atomic<int> errors{0};
  for_each_member(members, [&](int member) {
    rendezvous.arrive_and_wait(member, "the start", forever);
    try {
      rendezvous.arrive_and_wait(member, member == members / 2 ? "one place" : "other place", forever);
    } catch (const LogicError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("is at "), HasSubstr("one place"), HasSubstr("other place")));
      ++errors;
    }
  });
  EXPECT_EQ(errors, members);
}

TEST_P(RendezvousOf, AMemberThatHasFinishedIsAnErrorForWhoeverWaitsForIt) {
  const int members = GetParam();
  for (int repeat = 0; repeat < 50; ++repeat) {  // which member is first varies
    Rendezvous rendezvous(members);
    std::atomic<int> errors{0};
    for_each_member(members, [&](int member) {
      rendezvous.arrive_and_wait(member, "the start", forever);
      if (member == 0) return rendezvous.finish(member);
      try {
        rendezvous.arrive_and_wait(member, "the end", forever);
      } catch (const LogicError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the end needs all replicas, but replica(s) 0 ended the step without it"));
        ++errors;
      }
    });
    EXPECT_EQ(errors, members - 1);
  }
}

/// All members complete a round or none does, even when the last one arrives while the others give up.
TEST(Rendezvous, AMeetingThatTimesOutIsOneForNobody) {
  constexpr int members = 3;
  int met = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    Rendezvous rendezvous(members);
    std::atomic<int> here{0};
    for_each_member(members, [&](int member) {
      if (member == 0) std::this_thread::sleep_for(std::chrono::microseconds(900 + repeat));
      try {
        rendezvous.arrive_and_wait(member, "the deadline", 1ms);
        ++here;
      } catch (const Timeout&) {
      } catch (const Aborted&) {
      }
    });
    EXPECT_THAT(here.load(), AnyOf(0, members));
    met += here / members;
  }
  RecordProperty("completed_rounds", met);
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
  rendezvous.abort(0, "the cause");
  rendezvous.abort(1, "a consequence");
  EXPECT_THAT([&] { rendezvous.arrive_and_wait(0, "the test", forever); },
              ThrowsMessage<Aborted>(HasSubstr("the cause")));
}

TEST(Rendezvous, NeedsAMember) {
  EXPECT_THROW(Rendezvous(0), InvalidArgument);
  EXPECT_THROW(Rendezvous(-1), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
