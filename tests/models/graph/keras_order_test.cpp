#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/merge.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

GraphCall call(int layer, std::vector<int> inputs) {
  return {.layer = layer, .inputs = std::move(inputs), .shape = {}};
}

// Expected orders are those of Keras 3; tests/interop compares with Keras itself.

/// The order for a graph of calls, the last of which is the output.
std::vector<int> order_of(const std::vector<GraphCall>& calls, std::size_t layers) {
  return keras_layer_order(calls, {static_cast<int>(calls.size()) - 1}, layers);
}

TEST(KerasOrder, IsTheOrderOfCallsInAChain) {
  EXPECT_THAT(order_of({call(0, {-1}), call(1, {0}), call(2, {1})}, 3), ElementsAre(0, 1, 2));
}

TEST(KerasOrder, PutsLongerBranchesFirst) {
  // in -> 0 -> join(3); in -> 1 -> 2 -> join
  EXPECT_THAT(order_of({call(0, {-1}), call(1, {-1}), call(2, {1}), call(3, {0, 2})}, 4), ElementsAre(1, 0, 2, 3));
}

TEST(KerasOrder, FollowsTheInputsOfAJoinAmongEquals) {
  EXPECT_THAT(order_of({call(0, {-1}), call(1, {-1}), call(2, {1, 0})}, 3), ElementsAre(1, 0, 2));
}

TEST(KerasOrder, CountsASharedLayerByItsFarthestCall) {
  // in -> 0 -> 1 -> 0 -> join(3); in -> 2 -> join
  EXPECT_THAT(order_of({call(0, {-1}), call(2, {-1}), call(1, {0}), call(0, {2}), call(3, {1, 3})}, 4),
              ElementsAre(0, 1, 2, 3));
}

TEST(KerasOrder, ReachesThroughDeepModels) {
  std::vector<GraphCall> calls;
  for (int i = 0; i < 100000; ++i) calls.push_back(call(i, {i - 1}));
  EXPECT_EQ(order_of(calls, calls.size()).back(), 99999);
}

// Both outputs have distance 0; the traversal from the first one comes first.
TEST(KerasOrder, WalksFromEveryOutput) {
  const std::vector<GraphCall> calls{call(0, {-1}), call(1, {0}), call(2, {0}), call(3, {2})};
  EXPECT_THAT(keras_layer_order(calls, {1, 3}, 4), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(keras_layer_order(calls, {3, 1}, 4), ElementsAre(0, 2, 3, 1));
}

TEST(KerasOrder, RunsTheFarthestCallsFirst) {
  // in -> 0 -> join(3); in -> 1 -> 2 -> join
  const std::vector<GraphCall> calls{call(0, {-1}), call(1, {-1}), call(2, {1}), call(3, {0, 2})};
  EXPECT_THAT(keras_call_order(calls, {3}, 4), ElementsAre(1, 0, 2, 3));
}

TEST(KerasOrder, RunsCallsOfALayerTogetherWhereTheWalkMeetsTheFartherOneFirst) {
  // in -> 0 -> 1 -> join(2); in -> 0 -> join. Distances are computed from the join's last input to its first.
  EXPECT_THAT(keras_call_order({call(0, {-1}), call(0, {-1}), call(1, {1}), call(2, {0, 2})}, {3}, 3),
              ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(keras_call_order({call(0, {-1}), call(0, {-1}), call(1, {1}), call(2, {2, 0})}, {3}, 3),
              ElementsAre(1, 2, 0, 3));
}

/// BatchNormalization `norm` applied to x, and again after two layers: a network with one output.
Symbol normalized_twice(const Layer& norm, const Symbol& x) {
  const Symbol near = norm(x);
  return Add()({near, norm(Dense({.units = 2})(Dense({.units = 2})(x)))});
}

TEST(RunningOrder, IsKerasWhereStatisticsMoveTwice) {
  const Symbol x = Input({2});
  // Calls: 0 norm(x), 1 and 2 Dense, 3 norm, 4 Add. Keras runs the call nearest to the output last, together with the
  // layer's other call.
  EXPECT_THAT(running_order(Network(x, normalized_twice(BatchNormalization(), x), 1)), ElementsAre(1, 2, 0, 3, 4));
  const Layer frozen = BatchNormalization();  // perhaps not for long
  frozen.impl().set_trainable(false);
  EXPECT_THAT(running_order(Network(x, normalized_twice(frozen, x), 1)), ElementsAre(1, 2, 0, 3, 4));
}

TEST(RunningOrder, IsThatOfTheCallsOtherwise) {
  const Symbol x = Input({2});
  EXPECT_THAT(running_order(Network(x, normalized_twice(Dense({.units = 2}), x), 1)), ElementsAre(0, 1, 2, 3, 4));
}

}  // namespace
}  // namespace lockstep
