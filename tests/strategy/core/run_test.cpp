#include <atomic>
#include <set>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/strategy/core/strategy.h>
#include <lockstep/strategy/input/distributed_dataset.h>

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr auto step_of_a_number = [](int) {};
template <class... Args>
constexpr bool can_run = requires(const Strategy& strategy, const Args&... args) {
  strategy.run(step_of_a_number, args...);
};
// semantics 12.6: a call whose arguments do not fit the step's parameters, in number or type, does not compile.
static_assert(can_run<int> && can_run<PerReplica<int>> && !can_run<> && !can_run<int, int> && !can_run<std::string>);

class Run : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);
};

// TF case 12: each replica id from 0 to R - 1 occurs exactly once; semantics 4.4: the id is an int
TEST_P(Run, GivesTheResultsInReplicaOrder) {
  const PerReplica<int> ids = strategy_.run([] { return this_replica(); });
  ASSERT_EQ(ids.size(), replicas_);
  for (int replica = 0; replica < replicas_; ++replica) EXPECT_EQ(ids[replica], replica);
}

// TF case 17: the function is called exactly R times; semantics 2.4
TEST_P(Run, CallsAFunctionWithoutAResultOnceOnEachReplica) {
  std::atomic<int> calls = 0;
  strategy_.run([&] { ++calls; });
  EXPECT_EQ(calls, replicas_);
}

TEST_P(Run, EachReplicaKeepsAThreadOfItsOwn) {
  const auto thread_ids = [&] { return strategy_.run([] { return std::this_thread::get_id(); }).local_results(); };
  const auto first = thread_ids();
  const std::set<std::thread::id> distinct(first.begin(), first.end());
  EXPECT_EQ(static_cast<int>(distinct.size()), replicas_);
  EXPECT_FALSE(distinct.contains(std::this_thread::get_id()));
  EXPECT_EQ(thread_ids(), first);
}

// semantics 2.4, 15.8: replicas run concurrently; TensorFlow runs them one at a time
TEST_P(Run, ReplicasRunAtTheSameTime) {
  strategy_.run([] { get_replica_context().barrier("a place that takes all of them"); });
}

TEST_P(Run, ReplicasComputeOnTheirDevices) {
  const auto devices = strategy_.run([] { return Tensor::zeros({1}).device(); });
  EXPECT_EQ(devices.local_results(), strategy_.devices());
  strategy_.run([&] { EXPECT_EQ(get_strategy(), strategy_); });
}

// semantics 2.4: a replica gets its own element of every PerReplica, and plain values unchanged
TEST_P(Run, CutsArgumentsByReplicaAndPassesOthersWhole) {
  const auto offsets = test::per_replica(replicas_, [](int replica) { return 100 * replica; });
  const std::string plain = "plain";
  const auto results = strategy_.run(
      [&](int offset, const std::string& word) {
        EXPECT_EQ(&word, &plain);
        return offset + this_replica();
      },
      offsets, plain);
  for (int replica = 0; replica < replicas_; ++replica) EXPECT_EQ(results[replica], 101 * replica);
}

// TF case 21: testConstantNumpyInput, testNestedOutput
TEST_P(Run, GivesANumberToEveryReplicaAndTakesStructuresBack) {
  const auto squares = strategy_.run([](const Tensor& x) { return square(x).item<float>(); }, Tensor::full({}, 2));
  EXPECT_THAT(squares.local_results(), testing::Each(4));
  const auto ids = strategy_.run([] { return this_replica(); });
  const auto pairs = strategy_.run([](int id) { return std::vector{id - 1, id + 1}; }, ids);
  for (int replica = 0; replica < replicas_; ++replica)
    EXPECT_EQ(pairs[replica], (std::vector{replica - 1, replica + 1}));
}

// TF case 22
TEST_P(Run, HasItsEffectsWhenNobodyTakesTheResult) {
  const Variable v = strategy_.scope([] {
    return Variable({.name = "v",
                     .shape = {},
                     .initializer = [](const Tensor& out) { copy(Tensor::zeros({}), out); },
                     .aggregation = Aggregation::mean});
  });
  strategy_.run([&] {
    v.assign_add(Tensor::full({}, 1));
    return 0;
  });
  EXPECT_EQ(v.value().item<float>(), 1);
}

TEST_P(Run, CutsADistributedBatch) {
  std::vector<float> rows(23);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  const DistributedBatch batch({{Tensor::from(rows, {23})}}, replicas_);
  const auto parts = strategy_.run([](const Batch& local) { return local.x().to_vector<float>(); }, batch);
  std::vector<float> joined;
  for (const auto& part : parts.local_results()) joined.insert(joined.end(), part.begin(), part.end());
  EXPECT_EQ(joined, rows);
}

// semantics 2.4: run() checks the number of replicas of its arguments before it calls the step
TEST_P(Run, RefusesArgumentsMadeForAnotherNumberOfReplicas) {
  std::atomic<int> calls = 0;
  const auto step = [&](int) { ++calls; };
  for (const int wrong : {replicas_ + 1, replicas_ + 3}) {
    const auto argument = test::per_replica(wrong, [](int replica) { return replica; });
    EXPECT_THAT([&] { strategy_.run(step, argument); },
                ThrowsMessage<InvalidArgument>(HasSubstr(fmt::format("values for {} replicas", wrong))));
  }
  EXPECT_EQ(calls, 0);
}

// semantics 3.6
TEST_P(Run, InsideAReplicaIsRefused) {
  EXPECT_THAT([&] { strategy_.run([&] { strategy_.run([] {}); }); },
              ThrowsMessage<LogicError>(HasSubstr("run() was called inside a replica")));
}

INSTANTIATE_TEST_SUITE_P(Replicas, Run, testing::ValuesIn(test::replica_counts));

// semantics 7.3: collectives of concurrent threads must not interleave
TEST(RunOfSeveralThreads, TakesOneStepAtATime) {
  const MirroredStrategy strategy = mirrored(3);
  std::atomic<int> inside = 0;
  std::atomic<bool> overlapped = false;
  const auto steps = [&] {
    for (int step = 0; step < 20; ++step)
      strategy.run([&] {
        const ReplicaContext context = get_replica_context();
        ++inside;
        context.barrier("the middle");
        if (inside != 3) overlapped = true;
        context.barrier("the end");
        --inside;
        context.barrier("after the end");
      });
  };
  std::thread other(steps);
  steps();
  other.join();
  EXPECT_FALSE(overlapped);
}

}  // namespace
}  // namespace lockstep
