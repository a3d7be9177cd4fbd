#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/models/zoo/mlp.h>

namespace lockstep::test {
namespace {

TEST(Mlp, HasTheRecipesParameters) { EXPECT_EQ(zoo::mlp().count_params(), 41157101); }

TEST(Mlp, ComputesTanhThenReluThenSigmoid) {
  const Model model = zoo::mlp({.inputs = 6, .hidden = {5, 4, 3, 2}});
  EXPECT_EQ(model.network().output_shape(), Shape{1});
  const Tensor x = random_tensor({7, 6}, 1);
  Tensor expected = x;
  const Activation activations[] = {Activation::tanh, Activation::relu, Activation::relu, Activation::relu,
                                    Activation::linear};
  const std::vector<Variable> weights = model.variables();
  for (int layer = 0; layer < 5; ++layer)
    expected = dense(expected, weights[2 * layer].value(), weights[2 * layer + 1].value(), activations[layer]);
  expect_same_bits(model(x), sigmoid(expected));
}

}  // namespace
}  // namespace lockstep::test
