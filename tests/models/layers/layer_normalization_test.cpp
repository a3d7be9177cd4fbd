#include <lockstep/kernels/normalization/layer_norm.h>
#include <lockstep/models/layers/layer_normalization.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(LayerNormalization, HasKerasWeights) {
  const LayerNormalization layer = built(LayerNormalization(), {{5, 7}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/gamma (7)", "layer/beta (7)"));
  expect_same_bits(weight(layer, 0), Tensor::full({7}, 1));
  expect_same_bits(weight(layer, 1), Tensor::zeros({7}));
  EXPECT_EQ(shape_after(layer, {{5, 7}}), (Shape{5, 7}));
}

TEST(LayerNormalization, ComputesTheOp) {
  const LayerNormalization layer = built(LayerNormalization({.epsilon = 0.1, .beta_initializer = ones}), {{5, 7}});
  const Tensor x = random_tensor({3, 5, 7}, 1);
  expect_same_bits(call(layer, {x}), layer_norm(x, weight(layer, 0), weight(layer, 1), 0.1F));
  expect_same_bits(call(built(LayerNormalization(), {{7}}), {x}),
                   layer_norm(x, Tensor::full({7}, 1), Tensor::zeros({7}), 1e-3F));
}

TEST(LayerNormalization, HasNoGammaOrBetaOnRequest) {
  const Tensor x = random_tensor({3, 5, 7}, 1);
  const LayerNormalization unscaled = built(LayerNormalization({.scale = false, .beta_initializer = ones}), {{7}});
  EXPECT_THAT(weights_of(unscaled), testing::ElementsAre("layer/beta (7)"));
  expect_same_bits(call(unscaled, {x}), layer_norm(x, Tensor::full({7}, 1), Tensor::full({7}, 1)));
  const LayerNormalization neither =
      built(LayerNormalization({.center = false, .scale = false, .beta_initializer = ones, .gamma_initializer = zeros}),
            {{7}});
  EXPECT_THAT(weights_of(neither), testing::IsEmpty());
  expect_same_bits(call(neither, {x}), layer_norm(x, Tensor::full({7}, 1), Tensor::zeros({7})));
}

TEST(LayerNormalization, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "epsilon above 0, got 0", LayerNormalization({.epsilon = 0}));
  const LayerNormalization layer = built(LayerNormalization(), {{4}});
  EXPECT_ERROR(InvalidArgument, "built for 4 features, got (5)", shape_after(layer, {{5}}));
}

}  // namespace
}  // namespace lockstep::test
