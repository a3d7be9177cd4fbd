#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/core/strategy.h>

namespace lockstep {
namespace {

using test::mirrored;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::size_t copies_of_a_new_variable() { return test::variable_of("v", Tensor::zeros({1})).state().copies().size(); }

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

TEST(Scope, OfAnotherStrategyIsRefusedAndTheOpenOneStays) {
  const Strategy strategy = mirrored(2);
  const Strategy other = mirrored(3);
  const auto outer = strategy.scope();
  EXPECT_THAT([&] { (void)other.scope(); }, ThrowsMessage<LogicError>(HasSubstr("different strategy")));
  EXPECT_EQ(get_strategy(), strategy);
  EXPECT_EQ(copies_of_a_new_variable(), 2U);
}

TEST(Scope, InsideAReplicaIsRefused) {
  const Strategy strategy = mirrored(2);
  EXPECT_THAT([&] { strategy.run([&] { (void)strategy.scope(); }); },
              ThrowsMessage<LogicError>(HasSubstr("scope() was called inside a replica")));
}

TEST(Scope, IsOfItsOwnThread) {
  const auto inside = mirrored(2).scope();
  bool elsewhere = true;
  std::thread([&] { elsewhere = has_strategy(); }).join();
  EXPECT_FALSE(elsewhere);
}

}  // namespace
}  // namespace lockstep
