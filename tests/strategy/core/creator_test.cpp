#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/strategy/core/creator.h>

// TensorFlow's tf.variable_creator_scope.

namespace lockstep {
namespace {

using test::mirrored;
using test::variable_of;
using testing::ElementsAre;

/// A creator that puts `prefix` before names.
VariableCreator naming(const std::string& prefix) {
  return [prefix](const VariableMaker& next, VariableSpec spec) {
    spec.name = prefix + spec.name;
    return next(std::move(spec));
  };
}

// The innermost creator is called first; outside the scopes no creator is called.
TEST(VariableCreatorScope, CreatorsCallTheOnesAroundThem) {
  const Tensor one = Tensor::full({1}, 1);
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  {
    const VariableCreatorScope outer(naming("outer_"));
    {
      const VariableCreatorScope inner(naming("inner_"));
      const Variable v = variable_of("v", one);
      EXPECT_EQ(v.name(), "outer_inner_v");
      EXPECT_EQ(v.state().copies().size(), 2U);
    }
    EXPECT_EQ(variable_of("v", one).name(), "outer_v");
  }
  EXPECT_EQ(variable_of("v", one).name(), "v");
}

TEST(VariableCreatorScope, ACreatorMayGiveAVariableThatIsThere) {
  const Variable shared = variable_of("shared", Tensor::full({1}, 1));
  const VariableCreatorScope scope([&](const VariableMaker&, const VariableSpec&) { return shared; });
  EXPECT_EQ(variable_of("other", Tensor::zeros({3})), shared);
}

TEST(VariableCreatorScope, VariablesThatACreatorMakesAreOfTheScopesAround) {
  const VariableCreatorScope outer(naming("outer_"));
  std::vector<std::string> helpers;
  const VariableCreatorScope inner([&](const VariableMaker& next, VariableSpec spec) {
    helpers.push_back(variable_of("helper", Tensor::zeros({1})).name());
    return next(std::move(spec));
  });
  EXPECT_EQ(variable_of("v", Tensor::zeros({1})).name(), "outer_v");
  EXPECT_THAT(helpers, ElementsAre("outer_helper"));
}

// semantics 1.4: replica threads inherit the creator stack
TEST(VariableCreatorScope, HoldsInReplicas) {
  const MirroredStrategy strategy = mirrored(3);
  std::atomic<int> calls = 0;
  const VariableCreatorScope scope([&](const VariableMaker& next, VariableSpec spec) {
    ++calls;
    return next(std::move(spec));
  });
  Variable made;
  strategy.run([&] {
    const Variable v = Variable(
        {.name = "v", .shape = {2}, .initializer = [](const Tensor& out) { copy(Tensor::full({2}, 4), out); }});
    if (test::this_replica() == 0) made = v;
  });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(made.state().copies().size(), 3U);
}

TEST(VariableCreatorScope, RefusesCreatorsThatGiveNothing) {
  EXPECT_ERROR(InvalidArgument, "a creator that is null", const VariableCreatorScope none{nullptr});
  const VariableCreatorScope scope([](const VariableMaker&, const VariableSpec&) { return Variable(); });
  EXPECT_ERROR(InvalidArgument, "gave no variable for 'v'", variable_of("v", Tensor::zeros({1})));
}

}  // namespace
}  // namespace lockstep
