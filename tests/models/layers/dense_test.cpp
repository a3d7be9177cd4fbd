#include <array>

#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/regularizers.h>
#include <lockstep/runtime/autograd/tape.h>

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
                         testing::Values(Activation::linear, Activation::relu, Activation::tanh, Activation::gelu,
                                         Activation::softmax));

TEST(Dense, AppliesToTheLastAxis) {
  const Dense layer = built(Dense({.units = 5, .activation = Activation::softmax}), {{3, 4, 7}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/kernel (7, 5)", "layer/bias (5)"));
  EXPECT_EQ(shape_after(layer, {{3, 4, 7}}), (Shape{3, 4, 5}));
  EXPECT_EQ(shape_after(layer, {{2, 7}}), (Shape{2, 5})) << "other axes may change";
  const Tensor x = random_tensor({2, 3, 4, 7}, 2);
  expect_same_bits(call(layer, {x}), call(layer, {x.view({24, 7})}).view({2, 3, 4, 5}));
}

TEST(Dense, TakesKerasOptions) {
  const Dense layer =
      built(Dense({.units = 5, .use_bias = false, .kernel_initializer = constant(0.5), .kernel_regularizer = L2(0.1)}),
            {{7}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/kernel (7, 5)"));
  expect_same_bits(weight(layer, 0), Tensor::full({7, 5}, 0.5));
  const Tensor x = random_tensor({4, 7}, 2);
  expect_same_bits(call(layer, {x}), dense(x, weight(layer, 0), {}));
  EXPECT_FLOAT_EQ(layer.impl().regularization_loss().item<float>(), 0.1F * 35 * 0.25F);
  EXPECT_FALSE(built(Dense({.units = 5}), {{7}}).impl().regularization_loss().defined());
  const Dense biased = built(Dense({.units = 5, .bias_initializer = ones}), {{7}});
  expect_same_bits(weight(biased, 1), Tensor::full({5}, 1));
}

TEST(Regularizers, ArePenaltiesWithGradients) {
  const Tensor w = Tensor::from<float>({-2, 0, 3}, {3});
  const auto gradient = [&](const Regularizer& regularizer, float value) {
    GradientTape tape;
    tape.watch(w);
    const Tensor penalty = regularizer(w);
    EXPECT_FLOAT_EQ(penalty.item<float>(), value);
    return tape.gradient(penalty, std::array{w})[0].to_vector<float>();
  };
  using testing::FloatEq, testing::ElementsAre;
  EXPECT_THAT(gradient(L1(0.5), 2.5F), ElementsAre(FloatEq(-0.5F), 0, FloatEq(0.5F)));
  EXPECT_THAT(gradient(L2(0.5), 6.5F), ElementsAre(FloatEq(-2), 0, FloatEq(3)));
  EXPECT_THAT(gradient(L1L2(0.5, 0.25), 2.5F + 3.25F), ElementsAre(FloatEq(-1.5F), 0, FloatEq(2)));
  EXPECT_FLOAT_EQ(L1()(w).item<float>(), 0.05F);
  EXPECT_FLOAT_EQ(L2()(w).item<float>(), 0.13F);
  EXPECT_ERROR(InvalidArgument, "factors of at least 0, got l1 = 0 and l2 = -1", L2(-1));
}

TEST(Dense, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "at least 1 unit", Dense({.units = 0}));
  const Dense layer({.units = 5});
  EXPECT_ERROR(InvalidArgument, "Dense takes vectors (features), or several of them (..., features), got ()",
               shape_after(layer, {{}}));
  built(layer, {{7}});
  EXPECT_ERROR(InvalidArgument, "built for 7 features, got (8)", shape_after(layer, {{8}}));
  EXPECT_ERROR(InvalidArgument, "built for 7 features, got (7, 8)", shape_after(layer, {{7, 8}}));
}

}  // namespace
}  // namespace lockstep::test
