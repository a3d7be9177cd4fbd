#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/core/replica_context.h>

// merge_call. TensorFlow's replicas run sequentially, these concurrently; a merge imposes the same order: everything
// before it on all replicas, the merge, everything after it.

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class MergeCall : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);
};

// semantics 3.2: in cross-replica context, with arguments regrouped; 3.3: once
TEST_P(MergeCall, CallsTheFunctionOnceWithTheArgumentsOfAllReplicas) {
  int calls = 0;
  const auto results = strategy_.run([&] {
    return get_replica_context().merge_call(
        [&](const Strategy& strategy, const PerReplica<int>& ids, const PerReplica<std::string>& words) {
          ++calls;
          EXPECT_EQ(strategy, strategy_);
          EXPECT_TRUE(in_cross_replica_context());
          std::string joined;
          for (int replica = 0; replica < replicas_; ++replica) joined += words[replica] + std::to_string(ids[replica]);
          return joined;
        },
        std::tuple(this_replica(), std::string("r")));
  });
  EXPECT_EQ(calls, 1);
  std::string expected;
  for (int replica = 0; replica < replicas_; ++replica) expected += fmt::format("r{}", replica);
  EXPECT_THAT(results.local_results(), Each(expected));
}

// semantics 3.2: its result sliced back
TEST_P(MergeCall, GivesEachReplicaItsOwnOfAPerReplicaResult) {
  const auto results = strategy_.run([&] {
    return get_replica_context().merge_call(
        [&](const Strategy& strategy, const PerReplica<int>& ids) {
          return strategy.values_from_function([&](const ValueContext& context) {
            return 10 * ids[context.num_replicas_in_sync - 1 - context.replica_id_in_sync_group];
          });
        },
        std::tuple(this_replica()));
  });
  for (int replica = 0; replica < replicas_; ++replica) EXPECT_EQ(results[replica], 10 * (replicas_ - 1 - replica));
}

// semantics 3.2: the order of side effects, without turns within each part (sequential_test has those)
// TF case 17: testFunctionInCallForEachReplicaWithMergeCall
TEST_P(MergeCall, ComesAfterAllThatWasBeforeAndBeforeAllThatIsAfter) {
  std::mutex mutex;
  std::vector<std::string> log;
  const auto write = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    log.push_back(what);
  };
  const auto results = strategy_.run([&] {
    write("before");
    get_replica_context().merge_call([&](const Strategy&) { write("merge"); });
    write("after");
    return 0.0;
  });
  EXPECT_THAT(results.local_results(), Each(0.0));
  const auto n = static_cast<std::size_t>(replicas_);
  std::vector<std::string> expected(n, "before");
  expected.emplace_back("merge");
  expected.insert(expected.end(), n, "after");
  EXPECT_EQ(log, expected);
}

// TF case 18: TensorFlow refuses a merge in a loop or branch of a traced function. semantics 3.7, 15.4
TEST_P(MergeCall, WorksInALoop) {
  const auto results = strategy_.run([&] {
    int i = 0;
    while (i < 2) {
      i = get_replica_context().merge_call(
          [](const Strategy&, const PerReplica<int>& values) {
            int sum = 0;
            for (const int value : values.local_results()) sum += value;
            return sum + 1;
          },
          std::tuple(i));
    }
    return i;
  });
  EXPECT_THAT(results.local_results(), Each(replicas_ + 1));
}

// semantics 3.6: run inside a merge function is allowed
TEST_P(MergeCall, RunsTheStrategyAgainInside) {
  const auto results = strategy_.run([&] {
    return get_replica_context().merge_call(
        [](const Strategy& strategy, const PerReplica<int>& ids) {
          const auto inner = strategy.run(
              [](int id) {
                const Tensor own = Tensor::full({}, this_replica() + id);
                return get_replica_context().all_reduce(ReduceOp::sum, own).item<float>();
              },
              ids);
          return inner[0];
        },
        std::tuple(this_replica()));
  });
  EXPECT_THAT(results.local_results(), Each(static_cast<float>(replicas_ * (replicas_ - 1))));
}

// semantics 3.5: rethrown with its own type, and through run -> merge -> run
TEST_P(MergeCall, RethrowsTheFunctionsOwnErrorAndTheStrategyGoesOn) {
  EXPECT_THROW(
      strategy_.run([] { get_replica_context().merge_call([](const Strategy&) { throw std::out_of_range("mine"); }); }),
      std::out_of_range);
  EXPECT_ERROR(InvalidArgument, "deep inside", strategy_.run([] {
    get_replica_context().merge_call([](const Strategy& strategy) { strategy.run([] { fail("deep inside"); }); });
  }));
  EXPECT_THAT(strategy_.run([] { return 1; }).local_results(), Each(1));
}

INSTANTIATE_TEST_SUITE_P(Replicas, MergeCall, testing::ValuesIn(test::replica_counts));

// semantics 3.1, 3.2: args regrouped
TEST(MergeCallStructures, AreRegrouped) {
  const MirroredStrategy strategy = mirrored(2);
  const auto results = strategy.run([] {
    const std::map<std::string, std::vector<int>> own{{"a", {this_replica(), 7}}};
    return get_replica_context().merge_call(
        [](const Strategy&, const std::map<std::string, std::vector<PerReplica<int>>>& all) { return all; },
        std::tuple(own));
  });
  EXPECT_EQ(results[0].at("a"), (std::vector{0, 7}));
  EXPECT_EQ(results[1].at("a"), (std::vector{1, 7}));
}

// semantics 3.4: "different number of merge_call"
TEST(MergeCallOrder, AReplicaThatEndsInsteadIsNamed) {
  EXPECT_ERROR(LogicError, "replica(s) 1 ended the step without it", mirrored(3).run([] {
    if (this_replica() != 1) get_replica_context().merge_call([](const Strategy&) {});
  }));
}

// semantics 3.7: which replica and where, never a hang
TEST(MergeCallOrder, DifferentMergesAreBothNamed) {
  const MirroredStrategy strategy = mirrored(2);
  const auto error = test::error_of<LogicError>([&] {
    strategy.run([] {
      const ReplicaContext context = get_replica_context();
      if (this_replica() == 0)
        context.merge_call([](const Strategy&) {});
      else
        context.merge_call([](const Strategy&) {});
    });
  });
  EXPECT_THAT(error,
              testing::ContainsRegex(
                  "merge_call at merge_call_test.cpp:[0-9]+ while others wait at merge_call at merge_call_test"));
  const auto mixed = test::error_of<LogicError>([&] {
    strategy.run([] {
      const ReplicaContext context = get_replica_context();
      if (this_replica() == 0)
        context.merge_call([](const Strategy&) {});
      else
        context.all_reduce(ReduceOp::sum, Tensor::zeros({1}));
    });
  });
  EXPECT_THAT(mixed, AllOf(HasSubstr("all_reduce"), HasSubstr("merge_call at")));
}

// semantics 12.10: "mismatching ReplicaContext", on another thread or in another strategy's replica
TEST(ReplicaContextElsewhere, IsRefused) {
  const MirroredStrategy strategy = mirrored(2);
  const auto contexts = strategy.run([] { return std::optional(get_replica_context()); });
  EXPECT_ERROR(LogicError, "the context of replica 1 is used on another thread",
               contexts[1]->merge_call([](const Strategy&) {}));
  EXPECT_ERROR(LogicError, "the context of replica 0 is used on another thread", strategy.run([&] {
    if (this_replica() == 1) contexts[0]->all_reduce(ReduceOp::sum, Tensor::zeros({1}));
  }));
  EXPECT_ERROR(LogicError, "the context of replica 0 is used on another thread",
               mirrored(2).run([&] { contexts[0]->all_reduce(ReduceOp::sum, Tensor::zeros({1})); }));
}

// semantics 3.6: a merge has no replica; outside any strategy it simply calls
TEST(MergeCallContexts, AreThoseOfTheTable) {
  mirrored(2).run([] {
    get_replica_context().merge_call(
        [](const Strategy&) { EXPECT_ERROR(LogicError, "there is no replica here", get_replica_context()); });
  });
  const auto sum = get_replica_context().merge_call(
      [](const Strategy& strategy, const PerReplica<int>& values) {
        EXPECT_EQ(strategy.num_replicas_in_sync(), 1);
        return values[0] + 1;
      },
      std::tuple(41));
  EXPECT_EQ(sum, 42);
}

}  // namespace
}  // namespace lockstep
