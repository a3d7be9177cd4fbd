#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/serialization/keras_order.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

GraphCall call(int layer, std::vector<int> inputs) {
  return {.layer = layer, .inputs = std::move(inputs), .shape = {}};
}

// What is expected here is what Keras 3 gives for these models; tests/interop asks Keras itself.

TEST(KerasOrder, IsTheOrderOfCallsInAChain) {
  EXPECT_THAT(keras_layer_order({call(0, {-1}), call(1, {0}), call(2, {1})}, 3), ElementsAre(0, 1, 2));
}

TEST(KerasOrder, PutsLongerBranchesFirst) {
  // in -> 0 -> join(3); in -> 1 -> 2 -> join
  EXPECT_THAT(keras_layer_order({call(0, {-1}), call(1, {-1}), call(2, {1}), call(3, {0, 2})}, 4),
              ElementsAre(1, 0, 2, 3));
}

TEST(KerasOrder, FollowsTheInputsOfAJoinAmongEquals) {
  EXPECT_THAT(keras_layer_order({call(0, {-1}), call(1, {-1}), call(2, {1, 0})}, 3), ElementsAre(1, 0, 2));
}

TEST(KerasOrder, CountsASharedLayerByItsFarthestCall) {
  // in -> 0 -> 1 -> 0 -> join(3); in -> 2 -> join
  EXPECT_THAT(keras_layer_order({call(0, {-1}), call(2, {-1}), call(1, {0}), call(0, {2}), call(3, {1, 3})}, 4),
              ElementsAre(0, 1, 2, 3));
}

TEST(KerasOrder, ReachesThroughDeepModels) {
  std::vector<GraphCall> calls;
  for (int i = 0; i < 100000; ++i) calls.push_back(call(i, {i - 1}));
  EXPECT_EQ(keras_layer_order(calls, calls.size()).back(), 99999);
}

}  // namespace
}  // namespace lockstep
