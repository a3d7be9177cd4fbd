#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/strategy/core/names.h>
#include <lockstep/strategy/core/variable.h>

// Variables created inside `run`.

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;
using test::variable_of;

class CreationInRun : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);
};

// TF case 54: testSingleVariable, testMultipleVariables. semantics 5.0, 9.1: all copies are replica 0's initial value
TEST_P(CreationInRun, MakesOneVariableForAllReplicas) {
  const auto made = strategy_.run([] { return variable_of("v", Tensor::full({2}, this_replica())); });
  for (const Variable& handle : made.local_results()) EXPECT_EQ(handle, made[0]);
  ASSERT_EQ(static_cast<int>(made[0].state().copies().size()), replicas_);
  for (int replica = 0; replica < replicas_; ++replica) {
    const Tensor& own = made[0].state().copies()[static_cast<std::size_t>(replica)];
    EXPECT_EQ(own.device(), strategy_.devices()[static_cast<std::size_t>(replica)]);
    test::expect_same_bits(own, Tensor::zeros({2}));
  }
}

// TF case 56: testInitializedToSameValueInsideEagerRun, ON_WRITE and ON_READ, an initializer that draws anew each time
TEST_P(CreationInRun, GivesAllCopiesTheSameRandomValues) {
  std::atomic<unsigned> draws = 0;
  const auto made = strategy_.run([&] {
    std::vector<Variable> both;
    for (const Synchronization synchronization : {Synchronization::on_write, Synchronization::on_read})
      both.emplace_back(
          VariableSpec{.name = "v",
                       .shape = {5},
                       .initializer = [&](const Tensor& out) { copy(test::random_tensor({5}, ++draws), out); },
                       .synchronization = synchronization,
                       .aggregation = Aggregation::mean});
    return both;
  });
  EXPECT_EQ(draws, 2U) << "replica 0's initializer alone is called";
  for (const Variable& v : made[0])
    for (const Tensor& own : v.state().copies()) test::expect_same_bits(own, v.state().copies()[0]);
}

// TF case 54: testMultipleVariablesWithSameCanonicalName
TEST_P(CreationInRun, KeepsNamesThatDifferInTheirSuffixOnly) {
  const auto made = strategy_.run([] {
    std::vector<Variable> all;
    for (const char* name : {"foo/bar", "foo_1/bar", "foo_1/bar_1", "foo/bar_1"})
      all.push_back(variable_of(name, Tensor::zeros({1})));
    return all;
  });
  const std::vector<Variable>& all = made[0];
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(all[i] == all[j]);
  EXPECT_EQ(all[2].name(), "foo_1/bar_1");
  EXPECT_EQ(made[replicas_ - 1], all);
}

// TF case 55: testVariableWithSameCanonicalNameAcrossThreads. semantics 5.0: the name is taken from replica 0
TEST_P(CreationInRun, TakesTheNameOfReplica0) {
  const auto made =
      strategy_.run([] { return variable_of(fmt::format("foo_{}", this_replica()), Tensor::zeros({1})); });
  EXPECT_EQ(made[replicas_ - 1].name(), "foo_0");
}

// semantics 5.0: only on the first call
TEST_P(CreationInRun, IsRefusedAfterTheFirstStep) {
  strategy_.run([] {});
  EXPECT_ERROR(LogicError, "'late' is made inside run() after the first step",
               strategy_.run([] { variable_of("late", Tensor::zeros({1})); }));
  EXPECT_EQ(strategy_.scope([] { return variable_of("v", Tensor::zeros({1})); }).name(), "v");
}

INSTANTIATE_TEST_SUITE_P(Replicas, CreationInRun, testing::ValuesIn(test::replica_counts));

// TF case 55: testNonMatchingVariableCreation. TensorFlow ignores another shape silently.
// semantics 5.0, 15.10: another name or shape on r > 0
TEST(CreationInRun, NeedsTheSameVariableOnEveryReplica) {
  EXPECT_ERROR(LogicError, "'foo' (1) of f32 on replica 0, 'bar' (1) of f32 on replica 1",
               mirrored(2).run([] { variable_of(this_replica() == 0 ? "foo" : "bar", Tensor::zeros({1})); }));
  EXPECT_ERROR(LogicError, "'foo' (1) of f32 on replica 0, 'foo' (2) of f32 on replica 1",
               mirrored(2).run([] { variable_of("foo", Tensor::zeros({this_replica() + 1})); }));
}

// semantics 5.0: an extra creation
TEST(CreationInRun, NeedsEveryReplica) {
  EXPECT_ERROR(LogicError, "the creation of a variable needs all replicas", mirrored(3).run([] {
    if (this_replica() != 1) variable_of("v", Tensor::zeros({1}));
  }));
}

TEST(CreationInRun, MayHappenInAMerge) {
  const MirroredStrategy strategy = mirrored(2);
  const auto made = strategy.run([] {
    return get_replica_context().merge_call([](const Strategy&) { return variable_of("c", Tensor::zeros({1})); });
  });
  EXPECT_EQ(made[0], made[1]);
  EXPECT_EQ(made[0].state().copies().size(), 2U);
}

// TF case 55: shared_variable_creator_test. semantics 5.0: the de-uniquified name
TEST(CanonicalName, DropsTheSuffixesThatMakeNamesUnique) {
  EXPECT_EQ(canonical_name("foo_1/bar_1/baz"), "foo/bar/baz");
  EXPECT_EQ(canonical_name("foo_1"), "foo");
  for (const char* same : {"foo1", "foo_a", "foo_1:0"}) EXPECT_EQ(canonical_name(same), same);
  EXPECT_EQ(canonical_name(""), "Variable");
}

}  // namespace
}  // namespace lockstep
