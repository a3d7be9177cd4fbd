#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/reduce/arena.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class ParameterArenaOf : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = test::mirrored(replicas_);
  const std::vector<Shape> shapes_{{3, 5}, {}, {16}, {17}};
  const std::vector<Variable> variables_ = make_variables();

  std::vector<Variable> make_variables() const {
    const auto inside = strategy_.scope();
    std::vector<Variable> variables;
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      variables.push_back(test::variable_of(fmt::format("v{}", i), value_of(i)));
    return variables;
  }
  Tensor value_of(std::size_t variable) const {
    return test::random_tensor(shapes_[variable], static_cast<unsigned>(variable), 1, 2);
  }
};

TEST_P(ParameterArenaOf, LaysParametersOutInReverseOnCacheLines) {
  const ParameterArena arena(variables_, strategy_.devices());
  EXPECT_EQ(arena.variables(), variables_);
  EXPECT_EQ(arena.sizes_in_order(), (std::vector<std::int64_t>{32, 16, 16, 16}));
  EXPECT_EQ(arena.elements(), 80);
  const std::int64_t offsets[] = {64, 48, 32, 0};
  for (int replica = 0; replica < replicas_; ++replica) {
    const auto slots = arena.slots(replica);
    ASSERT_EQ(slots.size(), variables_.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      EXPECT_EQ(slots[i].source.data<float>(), arena.parameters()[replica] + offsets[i]);
      EXPECT_EQ(slots[i].source.id(), variables_[i].state().copies()[replica].id());
      EXPECT_EQ(slots[i].destination.data<float>(), arena.gradients()[replica] + offsets[i]);
      EXPECT_EQ(slots[i].destination.shape(), shapes_[i]);
    }
  }
}

TEST_P(ParameterArenaOf, ValuesMoveAlong) {
  const ParameterArena arena(variables_, strategy_.devices());
  for (std::size_t i = 0; i < variables_.size(); ++i)
    for (int replica = 0; replica < replicas_; ++replica) {
      const Tensor& copy = variables_[i].state().copies()[replica];
      EXPECT_EQ(copy.raw_data(), arena.slots(replica)[i].source.raw_data());
      test::expect_same_bits(copy, value_of(i));
    }
}

TEST_P(ParameterArenaOf, PaddingAndGradientsStartAtZero) {
  const ParameterArena arena(variables_, strategy_.devices());
  for (int replica = 0; replica < replicas_; ++replica) {
    const std::span parameters(arena.parameters()[replica], 80);
    const std::span gradients(arena.gradients()[replica], 80);
    EXPECT_TRUE(std::all_of(gradients.begin(), gradients.end(), [](float g) { return g == 0; }));
    // Every value is at least 1, so zeros are padding.
    EXPECT_EQ(std::count(parameters.begin(), parameters.end(), 0.0F), 80 - (15 + 1 + 16 + 17));
    EXPECT_EQ(std::count(parameters.begin() + 17, parameters.begin() + 32, 0.0F), 15);
  }
}

TEST_P(ParameterArenaOf, KnowsWhenAnotherOneHasTakenAVariable) {
  const ParameterArena first(variables_, strategy_.devices());
  EXPECT_TRUE(first.holds_variables());
  const ParameterArena second({variables_[2]}, strategy_.devices());
  EXPECT_FALSE(first.holds_variables());
  EXPECT_TRUE(second.holds_variables());
  test::expect_same_bits(variables_[2].value(), value_of(2));
}

TEST_P(ParameterArenaOf, RefusesWhatItCannotHold) {
  const auto arena_of = [&](std::vector<Variable> variables) {
    return [this, variables] { ParameterArena(variables, strategy_.devices()); };
  };
  EXPECT_THAT(arena_of({}), ThrowsMessage<InvalidArgument>(HasSubstr("no trainable variables")));
  EXPECT_THAT(arena_of({variables_[1], variables_[1]}),
              ThrowsMessage<InvalidArgument>(HasSubstr("'v1' is given twice")));
  const Variable fixed = strategy_.scope([] {
    return Variable({.name = "fixed", .shape = {1}, .initializer = [](const Tensor&) {}, .trainable = false});
  });
  EXPECT_THAT(arena_of({fixed}), ThrowsMessage<InvalidArgument>(HasSubstr("'fixed' is not trainable")));
  if (replicas_ == 1) return;
  const Variable outside = test::variable_of("outside", Tensor::zeros({1}));
  EXPECT_THAT(arena_of({outside}), ThrowsMessage<InvalidArgument>(HasSubstr("'outside' has 1 copies")));
}

INSTANTIATE_TEST_SUITE_P(Replicas, ParameterArenaOf, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
