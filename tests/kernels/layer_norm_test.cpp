
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/normalization/layer_norm.h>

namespace lockstep::test {
namespace {

// With a mean of a thousand deviations, f32 would lose the whole variance in E[x^2] - E[x]^2.
TEST(LayerNorm, SurvivesALargeMean) {
  const Tensor x = random_tensor({4, 300}, 1, 999, 1001);
  const Tensor y = layer_norm(x, Tensor::full({300}, 1), Tensor::zeros({300}));
  const Tensor of_deviations = layer_norm(x - 1000.0, Tensor::full({300}, 1), Tensor::zeros({300}));
  expect_close(y, of_deviations.to_vector<double>(), 1, 1000);
}

TEST(LayerNorm, NamesShapesThatDoNotFit) {
  const std::vector<Tensor> in{Tensor::zeros({4, 5}), Tensor::zeros({5}), Tensor::zeros({5})};
  EXPECT_ERROR(InvalidArgument, "x must be f32 (..., features), got f32 ()",
               layer_norm(Tensor::zeros({}), in[1], in[2]));
  EXPECT_ERROR(InvalidArgument, "gamma for x (4, 5) must be f32 (5), got f32 (4)",
               layer_norm(in[0], Tensor::zeros({4}), in[2]));
  EXPECT_ERROR(InvalidArgument, "beta for x (4, 5) must be f32 (5)", layer_norm(in[0], in[1], {}));
}

}  // namespace
}  // namespace lockstep::test
