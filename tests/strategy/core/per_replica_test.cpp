#include <string>

#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/strategy/core/per_replica.h>
#include <lockstep/strategy/core/structure.h>

namespace lockstep {
namespace {

// semantics 1.1: R values, one a replica
TEST(PerReplica, HoldsOneValueForEachReplica) {
  const PerReplica<std::string> words({"a", "bc", ""});
  EXPECT_EQ(words.size(), 3);
  EXPECT_EQ(words[1], "bc");
  EXPECT_EQ(words.local_results(), (std::vector<std::string>{"a", "bc", ""}));
  EXPECT_ERROR(InvalidArgument, "there is no value for replica 3: there are 3 replicas", words[3]);
  EXPECT_ERROR(InvalidArgument, "there is no value for replica -1", words[-1]);
  EXPECT_EQ(PerReplica<int>().size(), 0);
}

TEST(PerReplica, ResultsOfATemporaryCanBeLoopedOver) {
  std::vector<std::string> seen;
  for (const std::string& word : PerReplica<std::string>({"a", "bc"}).local_results()) seen.push_back(word);
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "bc"}));
}

// semantics 2.7: one replica's is no bare value
TEST(PerReplica, OneValueIsStillAListOfOne) {
  const PerReplica<int> one({7});
  EXPECT_EQ(one.local_results(), std::vector<int>{7});
}

TEST(PerReplica, IsCutForAReplicaAndOtherValuesPassWhole) {
  const PerReplica<int> numbers({10, 11});
  EXPECT_EQ(value_for_replica(numbers, 1), 11);
  EXPECT_EQ(replicas_of(numbers), 2);
  const std::vector<int> plain{1, 2, 3};
  EXPECT_EQ(&value_for_replica(plain, 1), &plain);
  EXPECT_EQ(replicas_of(plain), 0);
}

}  // namespace
}  // namespace lockstep
