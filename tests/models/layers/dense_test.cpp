#include <lockstep/models/layers/dense.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(Dense, HasKerasWeights) {
  const Dense layer = built(Dense({.units = 5}), {{7}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/kernel (7, 5)", "layer/bias (5)"));
  EXPECT_EQ(layer.impl().count_params(), 7 * 5 + 5);
  EXPECT_EQ(shape_after(layer, {{7}}), Shape{5});
}

class DenseActivation : public testing::TestWithParam<Activation> {};

TEST_P(DenseActivation, ComputesTheOp) {
  const Dense layer = built(Dense({.units = 5, .activation = GetParam()}), {{7}});
  layer.impl().variables()[1].assign(random_tensor({5}, 1));
  const Tensor x = random_tensor({4, 7}, 2);
  expect_same_bits(call(layer, {x}), dense(x, weight(layer, 0), weight(layer, 1), GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Each, DenseActivation,
                         testing::Values(Activation::linear, Activation::relu, Activation::sigmoid, Activation::tanh));

TEST(Dense, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "at least 1 unit", Dense({.units = 0}));
  const Dense layer({.units = 5});
  EXPECT_ERROR(InvalidArgument, "put a Flatten before it", shape_after(layer, {{7, 7}}));
  built(layer, {{7}});
  EXPECT_ERROR(InvalidArgument, "built for 7 features, got (8)", shape_after(layer, {{8}}));
}

}  // namespace
}  // namespace lockstep::test
