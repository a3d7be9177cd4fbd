#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/strategy/core/names.h>
#include <lockstep/strategy/strategies/one_device_strategy.h>

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;
using testing::ElementsAre;

Variable variable_named(const std::string& name) { return test::variable_of(name, Tensor::zeros({1})); }

TEST(NameScope, PutsItsNameBeforeThoseOfVariables) {
  const NameScope main("main");
  EXPECT_EQ(variable_named("v").name(), "main/v");
  {
    const NameScope foo("foo");
    EXPECT_EQ(variable_named("v").name(), "main/foo/v");
    EXPECT_EQ(current_name_scope(), "main/foo");
  }
  EXPECT_EQ(scoped_name("v"), "main/v");
  EXPECT_ERROR(InvalidArgument, "needs a name", NameScope(""));
}

// TF case 20: testNameScope. Ops have no names here: scoped_name gives the one that TensorFlow's would have.
// semantics 1.4: replica threads inherit the caller's name scope
TEST(NameScope, IsInheritedByReplicas) {
  const MirroredStrategy strategy = mirrored(3);
  for (const bool turns : {false, true}) {
    const MirroredStrategy own(strategy.devices(), {.sequential = turns});
    const NameScope main("main");
    const auto names = own.run([] {
      const NameScope foo("foo");
      std::vector<std::string> seen{scoped_name("a")};
      get_replica_context().merge_call([](const Strategy&) {});
      seen.push_back(scoped_name("b"));
      return seen;
    });
    EXPECT_THAT(names[0], ElementsAre("main/foo/a", "main/foo/b"));
    EXPECT_THAT(names[1], ElementsAre("main/replica_1/foo/a", "main/replica_1/foo/b"));
    EXPECT_THAT(names[2], ElementsAre("main/replica_2/foo/a", "main/replica_2/foo/b"));
  }
  EXPECT_THAT(strategy.run([] { return scoped_name("a"); }).local_results(),
              ElementsAre("a", "replica_1/a", "replica_2/a"));
  const NameScope main("main");
  EXPECT_THAT(OneDeviceStrategy("CPU:0").run([] { return scoped_name("a"); }).local_results(), ElementsAre("main/a"));
}

// TF case 20: testNameScopeWithVariable: a outside, b in run, c in the merge function
// semantics 5.0: names v, v/replica_1, taken from replica 0; 3.3: a merge's name scope, too
TEST(NameScope, NamesVariablesOutsideInsideAndInAMerge) {
  const MirroredStrategy strategy = mirrored(2);
  const NameScope main("main");
  const Variable a = strategy.scope([] { return variable_named("a"); });
  const auto made = strategy.run([] {
    const Variable b = variable_named("b");
    const NameScope foo("foo");
    const Variable c = get_replica_context().merge_call([](const Strategy&) { return variable_named("c"); });
    return std::vector{b, c};
  });
  EXPECT_EQ(made[0], made[1]);
  const auto names = [](const Variable& v) { return std::vector{v.state().copy_name(0), v.state().copy_name(1)}; };
  EXPECT_THAT(names(a), ElementsAre("main/a", "main/a/replica_1"));
  EXPECT_THAT(names(made[0][0]), ElementsAre("main/b", "main/b/replica_1"));
  EXPECT_THAT(names(made[0][1]), ElementsAre("main/foo/c", "main/foo/c/replica_1"));
}

TEST(NameScope, OfAReplicaMayDifferAsItsVariablesAreComparedWithoutIt) {
  const auto made = mirrored(2).run([] {
    const NameScope own(this_replica() == 0 ? "first" : "other");
    return variable_named("v");
  });
  EXPECT_EQ(made[1].name(), "first/v");
}

// TF case 11: scopes left out of order. TensorFlow raises where the inner one is still open; a scope of C++ that ends
// in a destructor cannot, so each takes away what it brought, in whatever order they end.
// semantics 12.9
TEST(NameScope, MayEndBeforeTheScopesInIt) {
  auto outer = std::make_unique<NameScope>("outer");
  auto inner = std::make_unique<NameScope>("inner");
  outer.reset();
  EXPECT_EQ(current_name_scope(), "inner");
  inner.reset();
  EXPECT_EQ(current_name_scope(), "");
}

TEST(NameScope, MayEndOnAnotherThread) {
  auto name = std::make_unique<NameScope>("here");
  std::thread([&] { name.reset(); }).join();
  EXPECT_EQ(current_name_scope(), "");
  std::thread([&] { name = std::make_unique<NameScope>("there"); }).join();
  EXPECT_EQ(current_name_scope(), "");
  name.reset();  // after its thread has ended
}

// semantics 15.10: errors name the copy
TEST(CopyName, IsInTheErrorOfACopyWithoutMemory) {
  auto devices = logical_cpus(2);
  devices[1].index = 50;  // a separate device, so that its limit affects no other test
  devices[1].memory_limit = 1 << 16;
  const MirroredStrategy strategy(devices);
  EXPECT_ERROR(OutOfMemory, "variable 'table/replica_1'", strategy.scope([] {
    return Variable({.name = "table", .shape = {1 << 16}, .initializer = [](const Tensor&) {}});
  }));
}

}  // namespace
}  // namespace lockstep
