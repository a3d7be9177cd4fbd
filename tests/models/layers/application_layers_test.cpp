#include <array>
#include <vector>

#include <lockstep/models/layers/application_layers.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(CustomScaleLayer, AddsTheScaledResidual) {
  const CustomScaleLayer layer({.scale = 0.25});
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor residual = random_tensor({2, 3, 4}, 2);
  std::vector<double> expected;
  const std::vector<double> scaled = residual.to_vector<double>();
  for (const double value : x.to_vector<double>()) expected.push_back(value + 0.25 * scaled[expected.size()]);
  EXPECT_THAT(call(layer, {x, residual}).to_vector<double>(), testing::Pointwise(testing::DoubleNear(1e-7), expected));
  EXPECT_EQ(shape_after(layer, {{3, 4}, {3, 4}}), (Shape{3, 4}));
  EXPECT_ERROR(InvalidArgument, "takes two inputs, got 1", shape_after(layer, {{3, 4}}));
  EXPECT_ERROR(InvalidArgument, "inputs of one shape, got (3, 4) and (4)", shape_after(layer, {{3, 4}, {4}}));
}

TEST(LayerScale, MultipliesEachChannel) {
  const LayerScale layer = built(LayerScale({.init_values = 0.5, .projection_dim = 3}), {{4, 3}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/gamma (3)"));
  EXPECT_THAT(weight(layer, 0).to_vector<float>(), testing::Each(0.5F));
  layer.impl().variables()[0].assign(Tensor::from<float>({1, 2, -1}, {3}));
  const Tensor x = random_tensor({2, 4, 3}, 1);
  const Tensor y = call(layer, {x});
  std::vector<float> expected;
  const std::array<float, 3> gamma{1, 2, -1};
  for (const float value : x.to_vector<float>()) expected.push_back(value * gamma[expected.size() % 3]);
  EXPECT_EQ(y.to_vector<float>(), expected);
  EXPECT_ERROR(InvalidArgument, "LayerScale takes 3 channels, its projection_dim, got (4, 2)",
               shape_after(layer, {{4, 2}}));
  EXPECT_ERROR(InvalidArgument, "a projection_dim of at least 1, got 0", LayerScale({}));
}

}  // namespace
}  // namespace lockstep::test
