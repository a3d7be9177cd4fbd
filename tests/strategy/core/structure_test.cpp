#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/strategy/core/structure.h>

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;

using Leaves = std::map<std::string, std::string>;
using Nest = std::tuple<std::string, std::vector<Leaves>, std::string>;

Nest nest(const std::string& suffix) {
  return {"a" + suffix, {{{"c", "d" + suffix}}, {{"e", "f" + suffix}, {"g", "h" + suffix}}}, "i" + suffix};
}

// TF case 1: testNested. A PerReplica has no one value to select: select_mirrored is an error of the compiler.
// semantics 3.1, 1.1
TEST(Regroup, TurnsStructuresInsideOut) {
  const auto grouped = regroup(PerReplica(std::vector{nest("1"), nest("2")}));
  EXPECT_EQ(std::get<0>(grouped).local_results(), (std::vector<std::string>{"a1", "a2"}));
  EXPECT_EQ(std::get<1>(grouped).at(1).at("g").local_results(), (std::vector<std::string>{"h1", "h2"}));
  EXPECT_EQ(std::get<2>(grouped)[1], "i2");
  EXPECT_EQ(value_for_replica(grouped, 0), nest("1"));
  EXPECT_EQ(value_for_replica(grouped, 1), nest("2"));
  EXPECT_EQ(replicas_of(grouped), 2);
}

// semantics 3.1, 2.4: a pair is a structure
TEST(Regroup, TurnsPairsInsideOut) {
  const auto grouped =
      regroup(PerReplica(std::vector{std::pair(1, Leaves{{"a", "b"}}), std::pair(2, Leaves{{"a", "c"}})}));
  EXPECT_EQ(grouped.first.local_results(), (std::vector{1, 2}));
  EXPECT_EQ(grouped.second.at("a").local_results(), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(value_for_replica(grouped, 1), std::pair(2, (Leaves{{"a", "c"}})));
  EXPECT_EQ(replicas_of(grouped), 2);
  const std::pair plain(1, std::string("x"));
  EXPECT_EQ(&value_for_replica(plain, 1), &plain);

  const MirroredStrategy strategy = mirrored(2);
  const auto sums = strategy.run([](const std::pair<int, int>& own) { return own.first + own.second; },
                                 std::pair(PerReplica(std::vector{1, 2}), 10));
  EXPECT_EQ(sums.local_results(), (std::vector{11, 12}));
  const auto results = regroup(strategy.run([] { return std::pair(this_replica(), 3); }));
  EXPECT_EQ(results.first.local_results(), (std::vector{0, 1}));
  EXPECT_EQ(results.second.local_results(), (std::vector{3, 3}));
}

// TF case 2: testWrapClass. What is equal on every replica needs no wrapper here: a plain value is what each of them
// gets, and the one to take. semantics 1.2: Mirrored
TEST(Regroup, IsForValuesThatVaryAndPlainOnesAreThoseOfAll) {
  const Nest mirrored_nest = nest("1");
  EXPECT_EQ(value_for_replica(mirrored_nest, 0), nest("1"));
  EXPECT_EQ(&value_for_replica(mirrored_nest, 1), &mirrored_nest);
  EXPECT_EQ(replicas_of(mirrored_nest), 0);
}

// TF case 3: testSameId. The type of a leaf says whether it varies, not the values that one step happens to give: the
// shared object comes back once for each replica, and is still one object.
TEST(Regroup, OfASharedObjectIsThatObjectForEach) {
  const auto shared = std::make_shared<int>(7);
  using Pair = std::tuple<std::string, std::shared_ptr<int>>;
  const auto grouped = regroup(PerReplica(std::vector{Pair("a", shared), Pair("b", shared)}));
  EXPECT_EQ(std::get<0>(grouped).local_results(), (std::vector<std::string>{"a", "b"}));
  for (const auto& own : std::get<1>(grouped).local_results()) EXPECT_EQ(own, shared);
}

// TF case 4: testOneDevice. A PerReplica of one, as everywhere: programs do not change with the number of replicas.
TEST(Regroup, OfOneReplicaIsThatReplicas) {
  const auto grouped = regroup(PerReplica(std::vector{nest("1")}));
  EXPECT_EQ(value_for_replica(grouped, 0), nest("1"));
}

// TF case 5: testNamedTuple, testWrappedNamedTuple. A struct is a leaf; its members are reached by transform.
// semantics 3.1: named tuple
TEST(Regroup, KeepsStructsAndTransformReachesTheirMembers) {
  struct Point {
    int x = 0;
    int y = 0;
  };
  const auto points = mirrored(2).run([] { return Point{this_replica(), this_replica() + 2}; });
  EXPECT_EQ(points.transform([](const Point& p) { return p.x; }).local_results(), (std::vector{0, 1}));
  EXPECT_EQ(points.transform([](const Point& p) { return p.y; }).local_results(), (std::vector{2, 3}));
}

// TF case 6: testMirroredContainer; semantics 3.1: components of one variable -> the container; 5.13: so that a handle
// from a replica is the variable everywhere
TEST(Regroup, OfAVariablesHandlesIsTheVariableForEach) {
  const MirroredStrategy strategy = mirrored(2);
  const Variable v = strategy.scope([] { return test::variable_of("v", Tensor::zeros({1})); });
  const auto handles = strategy.run([](const Variable& own) { return own; }, v);
  EXPECT_EQ(handles[0], v);
  EXPECT_EQ(handles[1], v);
}

// TF case 16: testRunRegroupError; semantics 3.1: naming both
TEST(Regroup, RefusesStructuresThatDiffer) {
  const MirroredStrategy strategy = mirrored(3);
  const auto lists = strategy.run([] { return std::vector<int>(static_cast<std::size_t>(this_replica())); });
  EXPECT_ERROR(InvalidArgument, "a list of 0 on replica 0, of 1 on replica 1", regroup(lists));
  const auto maps = strategy.run([] { return std::map<int, int>{{this_replica() == 2 ? 1 : 0, 5}}; });
  EXPECT_ERROR(InvalidArgument, "the maps of replicas 0 and 2 have different keys", regroup(maps));
}

// TF case 13: results fed into the next run; semantics 2.4: its slice of every PerReplica, in structures
TEST(RunWithStructures, CutsThemForEachReplica) {
  const MirroredStrategy strategy = mirrored(2);
  const auto ids = strategy.run([] { return this_replica() + 1; });
  EXPECT_EQ(ids.local_results(), (std::vector{1, 2}));
  const auto maps = strategy.run([](int x) { return std::map<std::string, int>{{"a", 2 * x}, {"b", x * x}}; }, ids);
  const auto grouped = regroup(maps);
  EXPECT_EQ(grouped.at("a").local_results(), (std::vector{2, 4}));
  EXPECT_EQ(grouped.at("b").local_results(), (std::vector{1, 4}));
  const auto sums =
      strategy.run([](const std::map<std::string, int>& own) { return own.at("a") + 2 * own.at("b") + 2; }, grouped);
  EXPECT_EQ(sums.local_results(), (std::vector{6, 14}));
}

// semantics 2.4: plain values pass whole to all
TEST(RunWithStructures, PassesWhatDoesNotVaryWithoutACopy) {
  const MirroredStrategy strategy = mirrored(2);
  const std::vector<std::vector<int>> plain{{1, 2}, {3}};
  strategy.run([&](const std::vector<std::vector<int>>& own) { EXPECT_EQ(&own, &plain); }, plain);
}

// Probe P11: TensorFlow uses the first two of three values. semantics 2.4: the length is checked first
TEST(RunWithStructures, ChecksTheNumberOfValuesInThem) {
  const MirroredStrategy strategy = mirrored(2);
  const std::vector three{PerReplica(std::vector{1, 2, 3})};
  EXPECT_ERROR(InvalidArgument, "values for 3 replicas, the strategy has 2",
               strategy.run([](const std::vector<int>&) {}, three));
  const std::tuple mixed(PerReplica(std::vector{1, 2}), PerReplica(std::vector{1, 2, 3}));
  EXPECT_ERROR(InvalidArgument, "values for 2 and for 3 replicas",
               strategy.run([](const std::tuple<int, int>&) {}, mixed));
}

}  // namespace
}  // namespace lockstep
