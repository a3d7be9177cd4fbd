#include <thread>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/core/default_strategy.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {
namespace {

// semantics 1.3, 2.9, 10.5
TEST(DefaultStrategy, IsOneReplicaOnTheCallingThread) {
  EXPECT_FALSE(has_strategy());
  const Strategy strategy = get_strategy();
  EXPECT_EQ(strategy.num_replicas_in_sync(), 1);
  EXPECT_EQ(strategy.devices().front().name(), "CPU:0");
  const auto ids = strategy.run([] { return std::this_thread::get_id(); });
  EXPECT_EQ(ids.local_results(), std::vector{std::this_thread::get_id()});
}

TEST(DefaultStrategy, IsTheSameOneEachTime) { EXPECT_EQ(get_strategy(), get_strategy()); }

// semantics 4.4: replica 0 of 1; 10.5: the identity
TEST(DefaultStrategy, HasAReplicaContextWhoseAllReduceGivesTheValue) {
  const ReplicaContext context = get_replica_context();
  EXPECT_EQ(context.replica_id_in_sync_group(), 0);
  EXPECT_EQ(context.num_replicas_in_sync(), 1);
  const Tensor x = test::random_tensor({5}, 1);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min, ReduceOp::prod})
    test::expect_same_bits(context.all_reduce(op, x), x);
}

// A program that forgot run() uses the default strategy.
TEST(DefaultStrategyDeathTest, WarnsOnceOfCollectivesOutsideEveryStrategy) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not warned yet
  const auto reduce_twice = [] {
    for (int call = 0; call < 2; ++call) get_replica_context().all_reduce("SUM", 1.0);
    std::exit(0);
  };
  const std::string warning = "all_reduce\\(\\) outside every strategy gives its argument back";
  EXPECT_EXIT(reduce_twice(), testing::ExitedWithCode(0),
              testing::AllOf(testing::ContainsRegex(warning),
                             testing::Not(testing::ContainsRegex(warning + "(.|\n)*" + warning))));
}

// semantics 10.5: all calls are the identity, in its own scope too
TEST(DefaultStrategy, ItsScopeChangesNothing) {
  const auto inside = get_strategy().scope();
  EXPECT_FALSE(has_strategy());
  EXPECT_FALSE(in_cross_replica_context());
  EXPECT_EQ(get_replica_context().num_replicas_in_sync(), 1);
  const auto nested = get_strategy().run([] { return get_strategy().run([] { return 7; })[0]; });
  EXPECT_EQ(nested[0], 7);
}

// semantics 2.13: there is one default strategy
TEST(DefaultStrategy, ItsCloneIsItself) { EXPECT_EQ(get_strategy().clone(), get_strategy()); }

TEST(DefaultStrategy, MakesPlainVariables) {
  const auto inside = get_strategy().scope();
  const Variable v({.name = "v",
                    .shape = {2},
                    .initializer = [](const Tensor& out) { copy(Tensor::full({2}, 3), out); },
                    .synchronization = Synchronization::on_read,
                    .aggregation = Aggregation::sum});
  EXPECT_EQ(v.state().copies().size(), 1U);
  test::expect_same_bits(v.value(), Tensor::full({2}, 3));
}

}  // namespace
}  // namespace lockstep
