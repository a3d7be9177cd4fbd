#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/strategy/strategies/mirrored_strategy.h>

// MirroredOptions::sequential: all side effects occur in TensorFlow's order. The logs need no lock, since only one
// replica runs at a time.

namespace lockstep {
namespace {

using test::this_replica;
using testing::ElementsAre;

MirroredStrategy taking_turns(int replicas) {
  return MirroredStrategy(logical_cpus(replicas), {.timeout = std::chrono::minutes(4), .sequential = true});
}

class Sequential : public testing::TestWithParam<int> {
 protected:
  void write(const std::string& what) { log_.push_back(what + std::to_string(this_replica())); }
  /// "a0", "a1", ... for "a"
  void expect_next(const std::string& what) {
    for (int replica = 0; replica < replicas_; ++replica) {
      ASSERT_LT(read_, log_.size());
      EXPECT_EQ(log_[read_++], what + std::to_string(replica));
    }
  }

  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = taking_turns(replicas_);
  std::vector<std::string> log_;
  std::size_t read_ = 0;
};

// semantics 3.2, 14.8, 15.8: a0 a1 M b0 b1
TEST_P(Sequential, IsReplicaByReplicaBeforeAndAfterAMerge) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    strategy_.run([&] {
      write("a");
      get_replica_context().merge_call([&](const Strategy&) { log_.push_back("M"); });
      write("b");
      get_replica_context().merge_call([&](const Strategy&) { log_.push_back("N"); });
    });
    expect_next("a");
    EXPECT_EQ(log_[read_++], "M");
    expect_next("b");
    EXPECT_EQ(log_[read_++], "N");
  }
  EXPECT_EQ(read_, log_.size());
}

// semantics 3.2: a collective is such a point, too
TEST_P(Sequential, HoldsAroundCollectives) {
  const auto sums = strategy_.run([&] {
    write("a");
    const Tensor sum = get_replica_context().all_reduce("sum", 1.0);
    write("b");
    return sum.item<float>();
  });
  expect_next("a");
  expect_next("b");
  EXPECT_THAT(sums.local_results(), testing::Each(static_cast<float>(replicas_)));
}

// semantics 3.2, 3.6: also in a run inside a merge
TEST_P(Sequential, HoldsInARunInsideAMerge) {
  strategy_.run([&] {
    write("a");
    get_replica_context().merge_call([&](const Strategy& strategy) { strategy.run([&] { write("i"); }); });
    write("b");
  });
  expect_next("a");
  expect_next("i");
  expect_next("b");
}

INSTANTIATE_TEST_SUITE_P(Replicas, Sequential, testing::ValuesIn(test::replica_counts));

// semantics 3.5, 14.8: replicas not yet started never start, and earlier side effects stay
TEST(SequentialErrors, AnExceptionInReplica0MeansReplica1NeverRan) {
  const MirroredStrategy strategy = taking_turns(3);
  std::vector<int> ran;
  for (const int failing : {0, 1}) {
    ran.clear();
    EXPECT_THROW(strategy.run([&] {
      ran.push_back(this_replica());
      if (this_replica() == failing) throw std::out_of_range("mine");
    }),
                 std::out_of_range);
    EXPECT_EQ(ran, failing == 0 ? std::vector({0}) : std::vector({0, 1}));
  }
  EXPECT_THAT(strategy.run([] { return this_replica(); }).local_results(), ElementsAre(0, 1, 2));
}

// semantics 3.5: the first one raised, in their order, is the one that reaches the caller; those in a merge are unwound
TEST(SequentialErrors, TheFirstReplicasErrorIsTheCallers) {
  const MirroredStrategy strategy = taking_turns(2);
  EXPECT_ERROR(InvalidArgument, "replica 0 (CPU:0): of 0", strategy.run([] { fail("of {}", this_replica()); }));
  bool unwound = false;
  EXPECT_ERROR(InvalidArgument, "replica 1 (CPU:1): late", strategy.run([&] {
    if (this_replica() == 1) fail("late");
    try {
      get_replica_context().merge_call([](const Strategy&) {});
    } catch (const Aborted&) {
      unwound = true;
      throw;
    }
  }));
  EXPECT_TRUE(unwound);
}

// semantics 3.4
TEST(SequentialErrors, DifferentNumbersOfMergesAreALogicError) {
  for (const int ending : {0, 1})
    EXPECT_ERROR(LogicError, fmt::format("replica(s) {} ended the step without it", ending), taking_turns(2).run([&] {
      if (this_replica() != ending) get_replica_context().merge_call([](const Strategy&) {});
    }));
}

}  // namespace
}  // namespace lockstep
