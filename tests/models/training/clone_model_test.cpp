#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>

#include <lockstep/models/training/clone_model.h>
#include <lockstep/models/zoo/siamese_lstm.h>

namespace lockstep::test {
namespace {

TEST(CloneModel, HasTheSameLayersAndItsOwnWeights) {
  const Model model = small_model(get_strategy());
  const Model clone = clone_model(model, 8);
  EXPECT_EQ(clone.summary(), model.summary());
  EXPECT_NE(weights_of(clone), weights_of(model));
  clone.set_weights(model.get_weights());
  const Tensor x = random_tensor({5, 8}, 1);
  expect_same_bits(clone(x), model(x));
  clone.variables()[0].assign(random_tensor({8, 16}, 3));
  EXPECT_NE(weights_of(clone), weights_of(model));
}

TEST(CloneModel, SharesLayersWhereTheModelDoes) {
  const Model model = zoo::siamese_lstm();
  const Model clone = clone_model(model);
  EXPECT_EQ(clone.count_params(), model.count_params());
  EXPECT_EQ(clone.network().inputs().size(), 2U);
}

TEST(CloneModel, IsMadeForTheOpenScope) {
  const Model model = small_model(get_strategy());
  const MirroredStrategy strategy = mirrored(3);
  const Model clone = strategy.scope([&] { return clone_model(model); });
  EXPECT_TRUE(clone.strategy() == strategy);
  EXPECT_ERROR(LogicError, "call compile() first", clone.optimizer());
}

}  // namespace
}  // namespace lockstep::test
