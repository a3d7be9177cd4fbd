#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {
namespace {

using test::mirrored;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::size_t copies_of_a_new_variable() { return test::variable_of("v", Tensor::zeros({1})).state().copies().size(); }

// semantics 2.3: variables made inside are mirrored; a strategy's scope can be opened again
TEST(Scope, VariablesMadeWhileItLivesAreMirrored) {
  const Strategy strategy = mirrored(3);
  EXPECT_EQ(copies_of_a_new_variable(), 1U);
  {
    const auto inside = strategy.scope();
    EXPECT_TRUE(has_strategy());
    EXPECT_EQ(get_strategy(), strategy);
    EXPECT_EQ(copies_of_a_new_variable(), 3U);
  }
  EXPECT_FALSE(has_strategy());
  EXPECT_EQ(copies_of_a_new_variable(), 1U);
}

TEST(Scope, CallableFormGivesTheResult) {
  EXPECT_EQ(mirrored(2).scope([] { return copies_of_a_new_variable(); }), 2U);
  EXPECT_FALSE(has_strategy());
  mirrored(2).scope([] {});
}

TEST(Scope, CallableFormClosesWhenTheFunctionThrows) {
  EXPECT_THROW(mirrored(2).scope([] { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_FALSE(has_strategy());
}

// semantics 2.3: the same strategy may nest
TEST(Scope, OfOneStrategyNests) {
  const Strategy strategy = mirrored(2);
  const Strategy same = strategy;
  const auto outer = strategy.scope();
  {
    const auto inner = same.scope();
    EXPECT_EQ(copies_of_a_new_variable(), 2U);
  }
  EXPECT_TRUE(has_strategy());
  EXPECT_EQ(copies_of_a_new_variable(), 2U);
}

// semantics 2.3, 12.7: another strategy's scope
TEST(Scope, OfAnotherStrategyIsRefusedAndTheOpenOneStays) {
  const Strategy strategy = mirrored(2);
  const Strategy other = mirrored(3);
  const auto outer = strategy.scope();
  EXPECT_THAT([&] { (void)other.scope(); }, ThrowsMessage<LogicError>(HasSubstr("different strategy")));
  EXPECT_EQ(get_strategy(), strategy);
  EXPECT_EQ(copies_of_a_new_variable(), 2U);
}

// TF case 10: twice nested the same; semantics 10.5: mixing different, and before and after both succeed
TEST(Scope, OfAnotherStrategyInsideTheDefaultOnesIsRefused) {
  const Strategy strategy = mirrored(2);
  for (int time = 0; time < 2; ++time) {
    const auto outer = get_strategy().scope();
    EXPECT_ERROR(LogicError, "mixing different strategies: scope()", (void)strategy.scope());
  }
  EXPECT_EQ(strategy.scope([] { return copies_of_a_new_variable(); }), 2U);
}

// semantics 10.5: the default scope inside a strategy's must not nest
TEST(Scope, OfTheDefaultStrategyInsideAnotherIsRefused) {
  const Strategy by_default = get_strategy();
  const auto inside = mirrored(2).scope();
  EXPECT_ERROR(LogicError, "mixing different strategies: scope()", (void)by_default.scope());
  EXPECT_EQ(copies_of_a_new_variable(), 2U);
}

// semantics 12.7: another strategy's run
TEST(Scope, RunOfAnotherStrategyInsideIsRefused) {
  const Strategy strategy = mirrored(2);
  const auto outer = mirrored(2).scope();
  EXPECT_ERROR(LogicError, "mixing different strategies: run()", strategy.run([] {}));
}

// TF case 7: the default state, a scope, a replica; semantics 1.3: and an update. semantics 2.9: one replica by default
TEST(Contexts, AreThoseOfTheTable) {
  const Strategy strategy = mirrored(2);
  EXPECT_FALSE(has_strategy());
  EXPECT_FALSE(in_cross_replica_context());
  EXPECT_EQ(get_replica_context().replica_id_in_sync_group(), 0);
  EXPECT_EQ(get_replica_context().num_replicas_in_sync(), 1);
  {
    const auto inside = strategy.scope();
    EXPECT_TRUE(has_strategy());
    EXPECT_TRUE(in_cross_replica_context());
    EXPECT_ERROR(LogicError, "there is no replica here", get_replica_context());
    strategy.run([&] {
      EXPECT_TRUE(has_strategy());
      EXPECT_FALSE(in_cross_replica_context());
      EXPECT_EQ(get_replica_context().strategy(), strategy);
    });
    const Variable v = test::variable_of("v", Tensor::zeros({1}));
    strategy.update(v, [](const Variable&) { EXPECT_FALSE(in_cross_replica_context()); });
  }
  EXPECT_FALSE(has_strategy());
  EXPECT_FALSE(in_cross_replica_context());
}

// TF case 9: testSetStrategy
TEST(SetStrategy, LastsUntilAnotherIsSet) {
  const Strategy first = mirrored(2);
  const Strategy second = mirrored(3);
  set_strategy(first);
  EXPECT_EQ(get_strategy(), first);
  EXPECT_EQ(copies_of_a_new_variable(), 2U);
  set_strategy(second);
  EXPECT_EQ(copies_of_a_new_variable(), 3U);
  EXPECT_TRUE(in_cross_replica_context());
  set_strategy(std::nullopt);
  EXPECT_FALSE(has_strategy());
}

// TF case 9: testSetStrategyInScope, three times; semantics 12.8
TEST(SetStrategy, InsideAScopeIsRefused) {
  const Strategy strategy = mirrored(2);
  const Strategy other = mirrored(2);
  const auto inside = strategy.scope();
  for (const std::optional<Strategy>& next : {std::optional(other), std::optional(strategy), std::optional<Strategy>()})
    EXPECT_ERROR(LogicError, "must not be called inside", set_strategy(next));
  EXPECT_ERROR(LogicError, "must not be called inside", strategy.run([&] { set_strategy(other); }));
  EXPECT_EQ(get_strategy(), strategy);
}

// semantics 2.3, 3.6: requires cross-replica context
TEST(Scope, InsideAReplicaIsRefused) {
  const Strategy strategy = mirrored(2);
  EXPECT_THAT([&] { strategy.run([&] { (void)strategy.scope(); }); },
              ThrowsMessage<LogicError>(HasSubstr("scope() was called inside a replica")));
}

// TF case 11: scopes left out of order. TensorFlow raises where the inner one is still open; a scope of C++ ends in a
// destructor, which cannot throw, so the strategy stays until the last of its scopes has ended, whichever that is.
// semantics 12.9
TEST(Scope, OfOneStrategyMayEndInAnyOrder) {
  const Strategy strategy = mirrored(2);
  auto outer = std::unique_ptr<Scope>(new Scope(strategy.scope()));
  auto inner = std::unique_ptr<Scope>(new Scope(strategy.scope()));
  outer.reset();
  EXPECT_EQ(get_strategy(), strategy);
  EXPECT_EQ(copies_of_a_new_variable(), 2U);
  inner.reset();
  EXPECT_FALSE(has_strategy());
  const auto again = strategy.scope();  // in order
  EXPECT_EQ(copies_of_a_new_variable(), 2U);
}

TEST(Scope, EndsWhereItWasOpenedOnWhateverThread) {
  const Strategy strategy = mirrored(2);
  auto inside = std::unique_ptr<Scope>(new Scope(strategy.scope()));
  std::thread([&] {
    const auto another = mirrored(3).scope();
    inside.reset();
    EXPECT_EQ(get_strategy().num_replicas_in_sync(), 3);
  }).join();
  EXPECT_FALSE(has_strategy());
  std::thread([&] { inside.reset(new Scope(strategy.scope())); }).join();
  inside.reset();  // after its thread has ended
  EXPECT_FALSE(has_strategy());
}

// semantics 1.4: the state is one of each thread
TEST(Scope, IsOfItsOwnThread) {
  const auto inside = mirrored(2).scope();
  bool elsewhere = true;
  std::thread([&] { elsewhere = has_strategy(); }).join();
  EXPECT_FALSE(elsewhere);
}

}  // namespace
}  // namespace lockstep
