#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>

#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/training/sequential.h>

namespace lockstep {
namespace {

TEST(SequentialModel, IsTheFunctionalModelOfItsLayers) {
  const MirroredStrategy strategy = test::mirrored(2);
  const auto inside = strategy.scope();
  const Sequential sequential({2, 4},
                              {Flatten(), Dense({.units = 5, .activation = Activation::relu}), Dense({.units = 3})},
                              {.name = "sequential", .seed = 4});
  const Symbol input = Input({2, 4});
  const Symbol hidden = Dense({.units = 5, .activation = Activation::relu})(Flatten()(input));
  const Model functional(input, Dense({.units = 3})(hidden), {.name = "sequential", .seed = 4});
  EXPECT_EQ(sequential.summary(), functional.summary());
  EXPECT_EQ(test::weights_of(sequential), test::weights_of(functional));
}

TEST(SequentialModel, HasAnOutput) {
  const Sequential model({4}, {Dense({.units = 3})});
  EXPECT_EQ(model.name(), "sequential");
  EXPECT_EQ(model(Tensor::zeros({2, 4})).shape(), (Shape{2, 3}));
  EXPECT_ERROR(InvalidArgument, "needs at least one layer", Sequential({4}, {}));
  EXPECT_ERROR(InvalidArgument, "takes layers with one result, got LSTM with 3",
               Sequential({4, 2}, {LSTM({.units = 3, .return_state = true})}));
}

}  // namespace
}  // namespace lockstep
